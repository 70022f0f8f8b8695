"""The pretrained networks that a study's methods start from, and what transfer from each gave."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from transferscope.errors import DataError, SettingsError, unknown_name
from transferscope.store import RecordColumns, StoredCell
from transferscope.study.cell import MethodRecipe
from transferscope.study.context import WorkContext
from transferscope.study.fitting import network_file

PREFERRED = ("fine-tune", "l2-sp", "merlin", "linear-probe")
"""Methods whose results count, the first that a study has for all candidates."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What one candidate of a study was pretrained on.

    Attributes:
        source: Name of the source.
        n_source: Number of source examples; None for a network from a file.
        pretrain_step: The step of pre-training; None for its end.
    """

    source: str
    n_source: int | None
    pretrain_step: int | None


@dataclass(frozen=True)
class Pretrained:
    """The candidates of a study.

    Attributes:
        names: By origin, in the order of the plan; with examples or step where a source has several.
        files: Network of each origin by seed.
        recipe: That of a method cell which starts from one of them.
    """

    names: Mapping[Origin, str]
    files: Mapping[Origin, Mapping[int, Path]]
    recipe: MethodRecipe


@dataclass(frozen=True)
class Results:
    """What one method gave.

    Attributes:
        method: Its name in the study.
        measure: "accuracy" or "r2".
        values: By origin, number of labels and seed.
    """

    method: str
    measure: str
    values: Mapping[tuple[Origin, int, int], float]


def pretrained_of(study: str, cells: Sequence[StoredCell], files: Path) -> Pretrained:
    """The candidates of a study.

    Args:
        study: Its name, for messages.
        cells: Its cells that are done.
        files: Folder of the trained networks.

    Raises:
        DataError: There is none.
    """
    context = WorkContext(files)
    found: dict[Origin, dict[int, Path]] = {}
    recipes = []
    for stored in cells:
        recipe = _recipe(stored)
        if recipe is None or recipe.source is None or recipe.method.start != "pretrained":
            continue
        origin, needs = _origin(stored), stored.cell.needs
        step = origin.pretrain_step
        if needs:
            file = context.network(needs[0]) if step is None else context.snapshot(needs[0], step)
        else:
            file = next(iter(found.get(origin, {}).values()), None) or network_file(recipe)  # one for all seeds
        found.setdefault(origin, {})[_whole(stored, "seed")] = file
        recipes.append(recipe)
    if not found:
        raise DataError(
            f"{study} has no pretrained networks that a finished method starts from; give it a source, and a method "
            "that starts from a pretrained network, such as [methods.fine-tune], and run it again"
        )
    return Pretrained(_names(list(found)), found, recipes[0])


def results_of(
    cells: Sequence[StoredCell], records: RecordColumns, pretrained: Pretrained, *, against: str | None
) -> Results | None:
    """What transfer from every candidate gave, by the method that counts.

    Args:
        cells: Cells of the study that are done.
        records: Its records.
        pretrained: The candidates.
        against: The method by its name in the study; None for the first of `PREFERRED`.

    Returns:
        The results; None when no method of these has any for all candidates.

    Raises:
        UnknownNameError: There is no such method.
        SettingsError: The method that was asked for lacks a result for a candidate.
    """
    measured = _measured(records)
    by_method: dict[str, dict[tuple[Origin, int, int], float]] = {}
    kinds: dict[str, str] = {}
    for stored in cells:
        recipe = _recipe(stored)
        if recipe is None or recipe.source is None or stored.cell.key not in measured.values:
            continue
        name, origin = str(stored.cell.labels["method"]), _origin(stored)
        kinds[name] = recipe.method.name
        place = origin, _whole(stored, "n_target"), _whole(stored, "seed")
        by_method.setdefault(name, {})[place] = measured.values[stored.cell.key]
    complete = [name for name, found in by_method.items() if {o for o, _, _ in found} >= set(pretrained.names)]
    if against is not None:
        if against not in by_method:
            raise unknown_name("method with results of sources", against, by_method)
        if against not in complete:
            raise SettingsError(
                f"{against} has no result for some of {', '.join(pretrained.names.values())}; hold the scores against "
                f"{' or '.join(complete) or 'no method'} instead"
            )
        return Results(against, measured.name, by_method[against])
    for kind in PREFERRED:
        for name in complete:
            if kinds[name] == kind:
                return Results(name, measured.name, by_method[name])
    return None


@dataclass(frozen=True)
class _Measured:
    name: str
    values: Mapping[str, float]


def _measured(records: RecordColumns) -> _Measured:
    """Final accuracy on the target test set by cell, or R² where there is no accuracy."""
    found: dict[str, dict[str, float]] = {"accuracy": {}, "r2": {}}
    for i, name in enumerate(records.name):
        if name in found and records.part[i] == "target_test" and records.step[i] is None:
            found[name][records.key[i]] = float(records.value[i])
    name = "accuracy" if found["accuracy"] else "r2"
    return _Measured(name, found[name])


def _recipe(stored: StoredCell) -> MethodRecipe | None:
    return MethodRecipe.from_payload(stored.cell.payload) if stored.cell.role == "method" else None


def _origin(stored: StoredCell) -> Origin:
    labels = stored.cell.labels
    n_source, step = labels.get("n_source"), labels.get("pretrain_step")
    return Origin(
        str(labels["source"]),
        n_source if isinstance(n_source, int) and n_source else None,
        step if isinstance(step, int) else None,
    )


def _names(origins: Sequence[Origin]) -> dict[Origin, str]:
    names = {}
    for origin in origins:
        sizes = {other.n_source for other in origins if other.source == origin.source}
        name = origin.source
        if len(sizes) > 1 and origin.n_source is not None:
            name = f"{name} ({origin.n_source:,} examples)"
        names[origin] = name if origin.pretrain_step is None else f"{name} after {origin.pretrain_step:,} steps"
    return names


def _whole(stored: StoredCell, label: str) -> int:
    return int(str(stored.cell.labels[label]))
