"""Planning of the cells of a study with commands, alone or together with methods."""

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

from transferscope.errors import SettingsError, missing_file
from transferscope.store import PlannedCell, Store, StudyRow
from transferscope.study.commands.filled import digest_of, digests_of
from transferscope.study.commands.settings import CommandSpec
from transferscope.study.commands.target import check_target
from transferscope.study.facts import DataFacts, surroundings
from transferscope.study.plan import StudyPlan, cell_key, plan_study, planned_seeds, shared_digest
from transferscope.wording import ALL_LABELS

VERSION = 1
"""Part of the key of a run of a command."""


def plan_commands(spec: CommandSpec, store: Store | None = None) -> StudyPlan:
    """Plan the cells of a study with commands, whole seeds first.

    Raises:
        MissingDataError: A pattern of `files` has no file.
        DataError: As in `plan_study` for methods in the study, or commands cannot be evaluated on their target.
    """
    controls = list(dict.fromkeys(arm.method for arm in spec.arms if arm.source is None))
    before = [] if store is None else [row.facts for row in store.studies() if row.name == spec.name]
    fixed = planned_seeds(before[0] if before else None, spec.seeds, is_race=spec.race is not None)
    if spec.beside is None:
        created = datetime.now(UTC).isoformat(timespec="seconds")
        facts = {"measure": spec.run.measure.as_json(), "controls": controls, **surroundings()}
        facts["planned_seeds"] = fixed
        return StudyPlan(StudyRow(spec.name, spec.as_json(), facts, created), tuple(command_cells(spec)), {})
    own = plan_study(replace(spec.beside, engine=spec.engine), store)
    assert own.data is not None
    check_target(own.study.facts["target"])
    facts = {**own.study.facts, "controls": [*own.study.facts.get("controls", ()), *controls], "planned_seeds": fixed}
    study = replace(own.study, spec={**spec.as_json(), **own.study.spec}, facts=facts)
    cells = in_order_of_seeds(spec, [*own.cells, *command_cells(spec, own.data)])
    return replace(own, study=study, cells=tuple(cells))


def in_order_of_seeds(spec: CommandSpec, cells: list[PlannedCell]) -> list[PlannedCell]:
    """Order the cells of methods and commands so that whole seeds are complete first."""
    places = {seed: place for place, seed in enumerate(spec.seeds)}
    return sorted(cells, key=lambda cell: places[int(str(cell.labels["seed"]))])


def command_cells(spec: CommandSpec, data: DataFacts | None = None) -> list[PlannedCell]:
    """Return one cell for each seed, arm and number of labels, in this order.

    The key of a run depends on its filled command and the content of the files that it names, including imports of
    Python files. Which result is read belongs to the study, not to the run.

    Args:
        data: Data of the methods in the study; None without methods.

    Raises:
        MissingDataError: A pattern of `files` has no file.
    """
    folder = Path(spec.arms[0].job.folder)
    further = _further(spec, folder)
    result: list[Any] = [(spec.run.score or "").partition(":")[0], spec.run.predictions]
    numbers = spec.run.labels or (ALL_LABELS,)
    target: Mapping[str, Any] = {}
    if spec.beside is not None and data is not None:
        result += [data.target]
        numbers = spec.beside.target.labels or (data.n_target,)
        target = {"target": {"data": asdict(spec.beside.target.as_data), "content": data.target}}
    runs = list(product(spec.seeds, numbers))
    read = cache(partial(digests_of, folder))
    by_seed: dict[int, list[PlannedCell]] = {seed: [] for seed in spec.seeds}
    for arm in spec.arms:
        for seed, n_target in runs:
            words = arm.job.words({"seed": seed, "n_target": n_target}, out="{out}")
            files = ChainMap(further, *(read(*named) for named in arm.job.named(words)))
            job = replace(arm.job, files=dict(files))
            parts = {
                "role": "command",
                "version": VERSION,
                "command": words,
                "files": job.files,
                "result": result,
            }
            labels = {
                "source": arm.source,
                "method": arm.method,
                "n_target": n_target,
                "n_source": 0 if arm.source is None else None,
                "seed": seed,
            }
            key = cell_key(shared_digest(parts), seed=seed, n_target=n_target)
            by_seed[seed].append(PlannedCell(key, "command", labels, {**job.as_payload(), **target}))
    return [cell for cells in by_seed.values() for cell in cells]


def _further(spec: CommandSpec, folder: Path) -> dict[str, str]:
    """Return digests of the files listed in the study file."""
    digests: dict[str, str] = {}
    for pattern in spec.run.files:
        try:
            paths = sorted(path for path in folder.glob(pattern) if path.is_file())
        except (OSError, ValueError, NotImplementedError) as error:
            raise SettingsError(
                f"[run] files = {pattern[:100]!r} ({error}); expected a path relative to the study file"
            ) from error
        if not paths:
            raise missing_file("file", Path(folder, pattern), "correct [run] files")
        digests |= {str(path.relative_to(folder)): digest_of(path) for path in paths}
    return digests
