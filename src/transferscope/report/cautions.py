"""What a reader must know of the data before trusting the numbers."""

from collections.abc import Mapping, Sequence

from transferscope.report.wording import listed


def cautions(facts: Mapping[str, object], sizes: Sequence[int]) -> tuple[str, ...]:
    """Sentences about test examples that are trained on, and about too few labels to show every class.

    Args:
        facts: The facts of a study, as `study` stored them.
        sizes: Numbers of target labels in the study.

    Returns:
        None to two sentences.
    """
    return tuple(sentence for sentence in (_leakage(facts), _unseen_classes(facts, sizes)) if sentence)


def _leakage(facts: Mapping[str, object]) -> str:
    places = [_place(name, _table(report)) for name, report in _table(facts.get("leakage")).items()]
    if not any(places):
        return ""
    return (
        f"Some target test examples are also in a training set, value by value: {listed([p for p in places if p])}; a "
        "method that learns from them scores too well."
    )


def _place(source: str, report: Mapping[str, object]) -> str:
    """Where test examples are trained on; "" when none is (every source repeats the count of the target's own)."""
    count = report.get("in_source_train" if source else "in_target_train")
    where = f"that of source {source}" if source else "the target's own"
    return f"{count:,} of {report.get('n_test'):,} in {where}" if isinstance(count, int) and count else ""


def _unseen_classes(facts: Mapping[str, object], sizes: Sequence[int]) -> str:
    target = _table(facts.get("target"))
    n_classes = target.get("n_outputs")
    few = sorted(size for size in set(sizes) if isinstance(n_classes, int) and size < n_classes)
    if target.get("kind") != "classification" or not few:
        return ""
    return (
        f"With {listed([f'{size:,}' for size in few], last='or')} labels some of the {n_classes:,} classes have no "
        "example to learn from, so no method can get them right."
    )


def _table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
