"""What to beware of in a study, whatever its results: data that are shared, classes without a label, weak inner heads.

`transferscope status` says some of it, and needs no statistics for that.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from transferscope.wording import counted, listed

UNEVEN = 5.0
"""How many times as frequent as the rarest class of the test examples the most frequent one is, where it is said."""

FEW_OF_CLASS = 20
"""Test examples of the rarest class below which it is said that a measure of classes rests on them."""

WEAK_INNER_RISK = 0.95
"""Leave-one-out risk of MeRLin's inner head, as a share of that of predicting the mean, from which it tells nothing."""


def cautions(facts: Mapping[str, object], sizes: Sequence[int], *, by_class: bool = False) -> tuple[str, ...]:
    """Sentences about shared data, rare classes, classes without a label, and batch normalisation that follows batches.

    Args:
        facts: The facts of a study, as `study` stored them.
        sizes: Numbers of target labels in the study.
        by_class: Whether what the study is judged by is no matter of frequent classes alone.

    Returns:
        None to five sentences.
    """
    said = (
        _leakage(facts),
        _source_is_target(facts),
        _few_of_class(facts) if by_class else _uneven_classes(facts),
        _unseen_classes(facts, sizes),
        _follows_batches(facts),
    )
    return tuple(sentence for sentence in said if sentence)


def early_stopping(runs: Iterable[tuple[int, float]]) -> tuple[str, ...]:
    """What early stopping did, for each number of labels of a study that asks for it.

    Args:
        runs: Number of target labels of each run, and the step whose weights it kept; NaN where nothing was held out,
            or nothing trained.

    Returns:
        One sentence for each number of labels, ascending.
    """
    steps: dict[int, list[float]] = {}
    for n_target, step in sorted(runs, key=lambda run: run[0]):
        steps.setdefault(n_target, []).append(step)
    said = []
    for n_target, found in steps.items():
        kept = sorted(step for step in found if not math.isnan(step))
        labels = counted(n_target, "label")
        if not kept:
            said.append(
                f"With {labels} nothing was held out to stop training by, which takes four labels of each class (16 in "
                "all): runs trained to the end."
            )
        else:
            said.append(
                f"With {labels} training was stopped by a held-out quarter of the labels; the weights kept are those "
                f"of step {kept[0]:.0f} to {kept[-1]:.0f} (median {kept[len(kept) // 2]:.0f})."
            )
    return tuple(said)


def weak_inner_heads(runs: Iterable[tuple[str, int, float]]) -> tuple[str, ...]:
    """A sentence for each method whose inner head predicts no better than the mean target.

    Args:
        runs: Method, number of target labels and the note "inner_risk" of each run that has one.

    Returns:
        One sentence for each method and number of labels with such a run.
    """
    risks: dict[tuple[str, int], list[float]] = {}
    for method, n_target, risk in runs:
        risks.setdefault((method, n_target), []).append(risk)
    return tuple(
        f"In {sum(risk >= WEAK_INNER_RISK for risk in found)} of {counted(len(found), 'run')} of {method} with "
        f"{counted(n_target, 'label')} the inner head predicted no better than the mean (leave-one-out risk up to "
        f"{max(found):.2f} of the mean's), so that it could not tell which features generalise: give it larger halves "
        f"(target_batch) or more labels."
        for (method, n_target), found in risks.items()
        if max(found) >= WEAK_INNER_RISK
    )


def shrunk_controls(runs: Iterable[tuple[int, float, float]]) -> tuple[str, ...]:
    """What ridge regression on raw inputs left out, where reading them whole would have taken too much.

    Args:
        runs: Number of target labels, and the notes "read_side" and "read_tokens" of each run that has one, else NaN.

    Returns:
        No sentence or one.
    """
    read = {
        n: f"images at {int(side)} pixels on a side"
        if side == side
        else f"counts of the {int(tokens):,} frequent tokens"
        for n, side, tokens in sorted(runs)
    }
    if not read:
        return ()
    which = listed([f"{what} with {counted(n, 'label')}" for n, what in read.items()])
    return (f"Ridge on the raw inputs read {which}: the whole would have taken too long, or too much memory.",)


def _follows_batches(facts: Mapping[str, object]) -> str:
    names = [name for name, source in _table(facts.get("sources")).items() if _table(source).get("follows_batches")]
    if not names:
        return ""
    return (
        f"{listed(names)} {'has' if len(names) == 1 else 'have'} batch normalisation, which training lets follow the "
        'target\'s batches (batch_norm = "train"): with few labels fine-tuning can end far below the linear probe for '
        'that alone. batch_norm = "auto" in [training] keeps the statistics of pre-training.'
    )


def _test_counts(facts: Mapping[str, object]) -> dict[str, int]:
    """Test examples by class, of the classes that have any; none where a damaged store has other things there."""
    target = _table(facts.get("target"))
    names, counts = target.get("classes"), _table(target.get("class_counts")).get("test")
    if target.get("kind") != "classification" or not isinstance(names, list) or not isinstance(counts, list):
        return {}
    pairs = zip(names, counts, strict=False)
    return {str(name): count for name, count in pairs if isinstance(count, int) and count > 0}


def _few_of_class(facts: Mapping[str, object]) -> str:
    counts = _test_counts(facts)
    if not counts or min(counts.values()) >= FEW_OF_CLASS:
        return ""
    least = min(counts, key=lambda name: counts[name])
    few = [name for name, count in counts.items() if count < FEW_OF_CLASS]
    others = f", and {counted(len(few) - 1, 'other class', 'other classes')} fewer than {FEW_OF_CLASS}"
    return (
        f"Only {counted(counts[least], 'test example')} {'is' if counts[least] == 1 else 'are'} “{least}”"
        f"{others if len(few) > 1 else ''}. What this study is judged by counts every class the same, so that each of "
        "these examples weighs as much as many others, and differences between ways that rest on them can be chance; "
        "more test examples of such classes help most."
    )


def _uneven_classes(facts: Mapping[str, object]) -> str:
    counts = _test_counts(facts)
    if not counts or max(counts.values()) < UNEVEN * min(counts.values()):
        return ""
    most, least = max(counts, key=lambda name: counts[name]), min(counts, key=lambda name: counts[name])
    total = sum(counts.values())
    return (
        f"Of the test examples {100 * counts[most] / total:.0f} % are “{most}” and "
        f"{100 * counts[least] / total:.2g} % “{least}”: accuracy is mostly about the frequent "
        'classes. metric = "balanced-accuracy" in [target] counts every class the same (nothing is trained again for '
        'that), and class_weights = "balanced" in [training] trains and chooses settings so.'
    )


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


def _source_is_target(facts: Mapping[str, object]) -> str:
    own = _table(facts.get("target")).get("fingerprint")
    sources = {name: _table(about).get("fingerprint") for name, about in _table(facts.get("sources")).items()}
    same = [name for name, fingerprint in sources.items() if own is not None and fingerprint == own]
    if not same:
        return ""
    return (
        f"{listed(same)} {'is' if len(same) == 1 else 'are'} the target's own data with all of their labels: what is "
        "gained from there is what more labels give, and says nothing of transfer."
    )


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
