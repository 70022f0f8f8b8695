"""Reading a finished study: its cells, its target data, and its pretrained networks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from transferscope.data.task import Dataset
from transferscope.errors import CorruptDataError, DataError, MissingDataError, StoreError, missing_file, unknown_name
from transferscope.models import OpenedNetwork, build_network, open_network
from transferscope.store import Store, StoredCell
from transferscope.study.cell import MethodRecipe
from transferscope.study.context import WorkContext
from transferscope.study.facts import read_data, shape_as_read
from transferscope.study.fitting import open_source

_LABELS = ("source", "method", "n_target", "n_source", "seed")


def finished_cells(store: Store, study: str, *, before: str) -> list[StoredCell]:
    """Return the finished cells, after checking that none is left.

    Args:
        before: The next action, for the message, as in "it is rated".

    Raises:
        UnknownNameError: There is no such study.
        StoreError: The store holds no study, or this one is not finished.
    """
    names = [row.name for row in store.studies()]
    if study not in names:
        if not names:
            raise StoreError(f"the store {store.place} has no study; run {study} with `transferscope run` first")
        raise unknown_name(f"study in {store.place}", study, names)
    counts = store.counts(study)
    if counts.planned or counts.running or not counts.done:
        raise StoreError(
            f"{counts.done} of the {counts.total} runs of {study} are done; finish it with `transferscope run` before "
            f"{before}"
        )
    done = [one for one in store.cells(study) if one.state == "done" and one.cell.role != "command"]
    if not done:
        raise StoreError(
            f"the runs of {study} are commands, whose networks are unknown to transferscope, but networks are needed "
            f"before {before}; use `transferscope report` to compare them"
        )
    for stored in done:
        lacking = [label for label in _LABELS if label not in stored.cell.labels and stored.cell.role != "theory"]
        if lacking:
            raise StoreError(
                f"a run of {study} in {store.place} has no {lacking[0]}, so the store is damaged; restore it from a "
                "copy, or run the study again in a new one"
            )
    return done


def target_data(recipe: MethodRecipe) -> Dataset:
    """Return the target's data, read from their place at the time of the study.

    Raises:
        MissingDataError: They are missing.
        CorruptDataError: They have changed since the study.
        DataError: They cannot be read.
    """
    try:
        found = read_data(recipe.target)
    except MissingDataError as error:
        raise MissingDataError(
            f"{error}; if the study was moved, update its paths with `transferscope run STUDY.toml` in the new place, "
            "which repeats no training"
        ) from error
    if recipe.contents.get("target", found.fingerprint) != found.fingerprint:
        raise CorruptDataError(
            f"the data {recipe.target.data} have changed since the study was planned; restore them, or run the study "
            "file again, which repeats the runs that use them"
        )
    return found


@dataclass(frozen=True, slots=True)
class Origin:
    """The pretraining of a network of a study.

    Attributes:
        n_source: Number of source examples; None for a network from a file.
        pretrain_step: The step of pretraining; None for its end.
    """

    source: str
    n_source: int | None
    pretrain_step: int | None

    @classmethod
    def of(cls, stored: StoredCell) -> "Origin":
        """Return the origin of a cell's initial network."""
        labels = stored.cell.labels
        n_source, step = labels.get("n_source"), labels.get("pretrain_step")
        return cls(
            str(labels["source"]),
            n_source if isinstance(n_source, int) and n_source else None,
            step if isinstance(step, int) else None,
        )


@dataclass(frozen=True)
class StudyNetworks:
    """The pretrained networks that methods of a study start from.

    Attributes:
        names: Names by origin, in the order of the plan; with examples or step if a source has several networks.
        files: Network of each origin by seed; a network from a file is the same for all seeds.
        recipes: Recipe of a method cell that starts from it, by origin.
    """

    names: Mapping[Origin, str]
    files: Mapping[Origin, Mapping[int, Path]]
    recipes: Mapping[Origin, MethodRecipe]

    @property
    def recipe(self) -> MethodRecipe:
        """The recipe of a method cell that starts from the first of them."""
        return next(iter(self.recipes.values()))

    def open(self, origin: Origin, seed: int, target: Dataset) -> OpenedNetwork:
        """Return the network of an origin and a seed, on the CPU, with its head if that is linear.

        Raises:
            DataError: Its file is missing.
            NetworkError: Its weights do not belong to its architecture, or are not finite.
        """
        recipe = self.recipes[origin]
        shape = shape_as_read(target, recipe.network)
        if recipe.source is not None and recipe.source.is_network:
            return open_source(recipe, shape, head="either")
        frame = build_network(recipe.network, shape, 1, seed=0)
        return open_network(frame, self.file(origin, seed), head="either", read_as=recipe.network.read_as(shape))

    def file(self, origin: Origin, seed: int) -> Path:
        """Return the file of the network of an origin and a seed.

        Raises:
            DataError: The file is missing.
        """
        file = self.files[origin][seed]
        if not file.is_file():
            raise missing_file(
                f"network pretrained on {self.names[origin]} with seed {seed}",
                file,
                "restore the folder of networks beside the store, or run the study again in a new store",
            )
        return file


def pretrained_of(cells: Sequence[StoredCell], files: Path, *, none: str) -> StudyNetworks:
    """Return the pretrained networks of a study, from its finished cells.

    Raises:
        DataError: The study has none, with the message `none`.
    """
    context = WorkContext(files)
    found: dict[Origin, dict[int, Path]] = {}
    recipes: dict[Origin, MethodRecipe] = {}
    for stored in cells:
        if stored.cell.role != "method":
            continue
        recipe = MethodRecipe.from_payload(stored.cell.payload)
        if recipe.source is None or recipe.method.start != "pretrained":
            continue
        origin, needs = Origin.of(stored), stored.cell.needs
        if needs and not recipe.source.is_network:
            step = origin.pretrain_step
            file = context.network(needs[0]) if step is None else context.snapshot(needs[0], step)
        else:
            file = Path(recipe.source.pretrained(recipe.network).name)  # one for all seeds
        found.setdefault(origin, {})[int(str(stored.cell.labels["seed"]))] = file
        recipes.setdefault(origin, recipe)
    if not found:
        raise DataError(none)
    return StudyNetworks(_names(list(found)), found, recipes)


def _names(origins: Sequence[Origin]) -> dict[Origin, str]:
    names = {}
    for origin in origins:
        sizes = {other.n_source for other in origins if other.source == origin.source}
        name = origin.source
        if len(sizes) > 1 and origin.n_source is not None:
            name = f"{name} ({origin.n_source:,} examples)"
        names[origin] = name if origin.pretrain_step is None else f"{name} after {origin.pretrain_step:,} steps"
    return names
