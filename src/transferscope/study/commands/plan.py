"""From a study of commands to its cells."""

from collections import ChainMap
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from itertools import product
from pathlib import Path

from transferscope.errors import MissingDataError, SettingsError
from transferscope.store import PlannedCell, StudyRow
from transferscope.study.commands.filled import digest_of, digests_of
from transferscope.study.commands.settings import CommandSpec
from transferscope.study.facts import surroundings
from transferscope.study.plan import StudyPlan, cell_key, shared_digest
from transferscope.wording import ALL_LABELS

VERSION = 1
"""Part of the key of a run of a command."""

WORK = "transferscope.study.commands.run:work"
"""What does the cells of such a study; it imports no torch, so that a run begins at once."""


def plan_commands(spec: CommandSpec) -> StudyPlan:
    """The cells of a study of commands; a MissingDataError where a pattern of `files` has no file."""
    facts = {
        "measure": spec.run.measure.as_json(),
        "controls": list(dict.fromkeys(arm.method for arm in spec.arms if arm.source is None)),
        **surroundings(),
    }
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return StudyPlan(StudyRow(spec.name, spec.as_json(), facts, created), tuple(command_cells(spec)), {})


def command_cells(spec: CommandSpec) -> list[PlannedCell]:
    """One cell for each seed, arm and number of labels, in this order.

    The key of a run is that of its filled command and of the content of the files that it names, with what Python files
    among them import. What is read of its result belongs to the study, and not to the run.

    Raises:
        MissingDataError: A pattern of `files` has no file.
    """
    folder = Path(spec.arms[0].job.folder)
    further = _further(spec, folder)
    result = [spec.run.score.partition(":")[0], spec.run.predictions]
    runs = list(product(spec.seeds, spec.run.labels or (ALL_LABELS,)))
    read = cache(partial(digests_of, folder))
    found: dict[int, list[PlannedCell]] = {seed: [] for seed in spec.seeds}
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
            found[seed].append(PlannedCell(key, "command", labels, job.as_payload()))
    return [cell for cells in found.values() for cell in cells]


def _further(spec: CommandSpec, folder: Path) -> dict[str, str]:
    """Digests of the files that the study file names besides."""
    found: dict[str, str] = {}
    for pattern in spec.run.files:
        try:
            paths = sorted(path for path in folder.glob(pattern) if path.is_file())
        except (OSError, ValueError, NotImplementedError) as error:
            raise SettingsError(
                f"[run] files holds {pattern[:100]!r} ({error}); expected a path seen from the folder of the study file"
            ) from error
        if not paths:
            raise MissingDataError(f"[run] files holds {pattern!r}, and there is no such file in {folder}")
        found |= {str(path.relative_to(folder)): digest_of(path) for path in paths}
    return found
