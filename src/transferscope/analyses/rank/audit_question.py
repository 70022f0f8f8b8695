"""An audit of all scores over the finished studies of a store: what they say beside what transfer really gave."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float64

from transferscope.analyses.finished_study import Origin, StudyNetworks, finished_cells, pretrained_of, target_data
from transferscope.analyses.rank.agreement import (
    PIXELS,
    SOURCE_ACCURACY,
    UNTRAINED,
    AuditCase,
    audit_cases,
    with_static_list,
)
from transferscope.analyses.rank.audit_result import AuditResult, passed_over_in_words
from transferscope.analyses.rank.candidates import candidate_of, labelled_target, least_labels, random_candidate
from transferscope.analyses.rank.hindsight import Results, results_of
from transferscope.analyses.rank.scoring import Chosen, choose_scores, value_of
from transferscope.consent import reads_code
from transferscope.data.splits import few_shot
from transferscope.data.task import Dataset
from transferscope.diagnostics import Examples
from transferscope.diagnostics.features import features_of
from transferscope.errors import DataError, NetworkError, SettingsError, StoreError, UnknownNameError
from transferscope.models import Network
from transferscope.store import RecordColumns, Store, StoredCell, without_password
from transferscope.study.cell import MethodRecipe, PretrainRecipe, code_as_planned, code_of
from transferscope.study.context import no_progress
from transferscope.study.facts import examples_as_read, read_data, shape_as_read
from transferscope.study.fitting import spread_examples
from transferscope.study.places import open_existing, studies_in
from transferscope.study.settings import DataSettings
from transferscope.training import choose_device, scale_of, stream_seed

N_SOURCE_EXAMPLES = 500
"""Training examples of a source, at even distances, that its inputs are compared by."""


@reads_code
def audit(
    place: str | Path,
    *,
    against: str | None = None,
    seeds: int = 3,
    scores: Sequence[str] = (),
    device: str = "auto",
    trust_code: bool = False,
    on_progress: Callable[[int, int], None] = no_progress,
) -> AuditResult:
    """Hold every score against what transfer gave, over all finished studies of a store.

    Studies of one target with the same number of labels, method and settings are taken together, with all of their
    sources. Nothing is trained, and nothing is written to the store.

    Args:
        place: Path or URL of a store with studies of several targets, or a study file whose store has them.
        against: The method whose results count; None for the one that most studies are judged by: the first of
            fine-tune, l2-sp, merlin and linear-probe that has results for all sources of a study.
        seeds: Draws of labels, those of the first seeds, that scores are computed on; at least 1. What transfer gave is
            a mean over all seeds.
        scores: By name; empty for all.
        device: "auto", "cpu", "cuda" or "mps".
        trust_code: Whether code that the store names is run, beside what a study file of yours names.
        on_progress: Called with (networks rated, networks in all).

    Returns:
        The audit; studies that do not count are named with the reason.

    Raises:
        TransferscopeError: Fewer than two targets have finished studies of two sources, or data or networks are gone.

    Example:
        >>> print(audit("runs/all.sqlite").verdict)  # doctest: +SKIP
    """
    if seeds < 1:
        raise SettingsError(f"seeds = {seeds}; expected at least 1")
    address = str(place)
    with open_existing(address) as store:
        names = [study.name for study in store.studies()]
        if not names:
            raise StoreError(f"{without_password(address)} holds no study; run some with `transferscope run` first")
        read, passed_over = _read(store, names, against)
        groups = _together(read)
        passed_over += [(", ".join(one.studies), "one source") for one in groups if len(one.files) < 2]
        groups = [one for one in groups if len(one.files) > 1]
        targets = {one.target for one in groups}
        if len(targets) < 2:
            _refuse(without_password(address), studies_in(store, address), targets, passed_over)
        opened = _Opened(choose_device(device), scores)
        cases, n_done = [], 0
        n_networks = sum(min(seeds, len(one.seeds)) * len(one.files) for one in groups)
        on_progress(0, n_networks)
        for group in groups:
            with code_as_planned(group.code):
                case = opened.case_of(group, seeds)
            n_done += min(seeds, len(group.seeds)) * len(group.files)
            on_progress(n_done, n_networks)
            if isinstance(case, str):
                passed_over.append((", ".join(group.studies), case))
            else:
                cases.append(case)
    if len({case.target for case in cases}) < 2:
        _refuse(without_password(address), names, {case.target for case in cases}, passed_over)
    found = audit_cases(groups[0].method, groups[0].measure, with_static_list(cases), passed_over=passed_over)
    return AuditResult(found, Path(address).stem if "://" not in address else without_password(address))


def _refuse(place: str, names: Sequence[str], targets: set[str], passed_over: Sequence[tuple[str, str]]) -> None:
    """Say why there is nothing to audit.

    Raises:
        DataError: Always.
    """
    has = f"{len(names)} studies" if len(names) != 1 else f"one study, {names[0]}"
    counted = f"of one target, {next(iter(targets))}, count" if targets else "counts none of them"
    why = passed_over_in_words(passed_over)
    counts = f"only those {counted}" if targets else f"an audit {counted}"
    raise DataError(
        f"{place} has {has}, and {counts}{f' ({why})' if why else ''}; an audit takes finished studies of two "
        "targets or more, each with two sources or more, in one store, and `transferscope rank` without --audit ranks "
        "the sources of one study"
    )


@dataclass(frozen=True)
class _Read:
    """What one study says at its numbers of labels."""

    study: str
    pretrained: StudyNetworks
    cells: list[StoredCell]
    results: Results
    records: RecordColumns
    target: str
    kinds: dict[str, str]

    @property
    def code(self) -> dict[str, str]:
        """The code of the user that it was done with."""
        return code_of((stored.cell for stored in self.cells), "network")


@dataclass
class _Group:
    """Sources of one or several studies that differ in nothing else: one case of the audit, before it is scored."""

    target: str
    n_target: int
    method: str
    measure: str
    recipe: MethodRecipe
    studies: list[str] = field(default_factory=list)
    code: dict[str, str] = field(default_factory=dict)
    files: dict[str, dict[int, Path]] = field(default_factory=dict)
    networks: dict[str, tuple[StudyNetworks, Origin]] = field(default_factory=dict)
    gave: dict[str, dict[int, float]] = field(default_factory=dict)
    accuracy: dict[str, dict[int, float]] = field(default_factory=dict)
    data: dict[str, DataSettings | None] = field(default_factory=dict)
    of_classes: dict[str, bool] = field(default_factory=dict)

    @property
    def seeds(self) -> list[int]:
        """Seeds with a network and a result of every source, ascending."""
        return sorted(set.intersection(*(set(found) & set(self.files[name]) for name, found in self.gave.items())))

    def take_in(self, other: "_Group") -> None:
        """Add the sources of another group that this one lacks."""
        self.studies += other.studies
        self.code |= other.code
        for name in [name for name in other.files if name not in self.files]:
            self.files[name], self.gave[name] = other.files[name], other.gave[name]
            self.accuracy[name], self.data[name] = other.accuracy.get(name, {}), other.data[name]
            self.of_classes[name], self.networks[name] = other.of_classes[name], other.networks[name]


def _read(store: Store, names: Sequence[str], against: str | None) -> tuple[list[_Read], list[tuple[str, str]]]:
    """The studies that can be held against one method, and those that cannot, with the reason."""
    read, passed_over = [], []
    for name in names:
        try:
            cells = finished_cells(store, name, before="its scores are audited")
            records = store.records(name)
            with code_as_planned(code_of((stored.cell for stored in cells), "network")):
                pretrained = pretrained_of(cells, store.files, none="it has no pretrained network")
                results = results_of(cells, records, pretrained, against=against)
        except (StoreError, DataError, SettingsError, UnknownNameError) as error:
            passed_over.append((name, str(error)))
            continue
        if results is None:
            passed_over.append((name, "no method has results of all its sources"))
            continue
        facts = store.study(name).facts
        target = facts.get("target", {}).get("name") or pretrained.recipe.target.data
        kinds = {source: fact.get("kind", "classification") for source, fact in facts.get("sources", {}).items()}
        read.append(_Read(name, pretrained, cells, results, records, str(target), kinds))
    return _of_one_method(read, passed_over, against)


def _of_one_method(
    read: list[_Read], passed_over: list[tuple[str, str]], against: str | None
) -> tuple[list[_Read], list[tuple[str, str]]]:
    """Only studies judged by the same method and measure: the ones that most are judged by, accuracy before R²."""
    for part in ("measure", "method"):
        judged = [getattr(one.results, part) for one in read]
        most = max(dict.fromkeys(judged), key=judged.count, default="")
        wanted = "accuracy" if part == "measure" and "accuracy" in judged else most
        kept = []
        for one in read:
            results: Results | None = one.results
            if part == "method" and against is None and one.results.method != wanted:
                try:
                    with code_as_planned(one.code):
                        results = results_of(one.cells, one.records, one.pretrained, against=wanted)
                except SettingsError:
                    results = None
            if results is None or getattr(results, part) != wanted:
                passed_over.append((one.study, f"judged by {getattr(one.results, part)}, and others by {wanted}"))
                continue
            kept.append(_Read(one.study, one.pretrained, one.cells, results, one.records, one.target, one.kinds))
        read = kept
    return read, passed_over


def _together(read: Sequence[_Read]) -> list[_Group]:
    """Studies that share target, labels, method and settings, taken together unless a name means two networks."""
    groups: dict[str, list[_Group]] = {}
    for one in read:
        with code_as_planned(one.code):
            own = _of_study(one)
        for key, group in own.items():
            same = groups.setdefault(key, [])
            fitting = next((other for other in same if not _conflict(other, group)), None)
            if fitting is None:
                same.append(group)
                continue
            fitting.take_in(group)
    return [group for same in groups.values() for group in same]


def _conflict(one: _Group, other: _Group) -> bool:
    """Whether a name means another network or another code in each, or they share no seed."""
    shared = set(one.files) & set(other.files)
    differ = any(one.files[name] != other.files[name] for name in shared)
    differ |= any(one.code[name] != other.code[name] for name in set(one.code) & set(other.code))
    return differ or not set(one.seeds) & set(other.seeds)


def _of_study(one: _Read) -> dict[str, _Group]:
    """The groups of one study by what has to be the same: target, labels, method and settings."""
    accuracy = {
        one.records.key[i]: float(one.records.value[i])
        for i, name in enumerate(one.records.name)
        if name == "accuracy" and one.records.part[i] == "source_test" and one.records.step[i] is None
    }
    by_key = {stored.cell.key: stored for stored in one.cells}
    groups: dict[str, _Group] = {}
    for stored in one.cells:
        labels = stored.cell.labels
        if stored.cell.role != "method" or labels["method"] != one.results.method:
            continue
        recipe, origin = MethodRecipe.from_payload(stored.cell.payload), Origin.of(stored)
        n, seed = int(str(labels["n_target"])), int(str(labels["seed"]))
        value = one.results.values.get((origin, n, seed))
        if recipe.source is None or origin not in one.pretrained.names or value is None or not np.isfinite(value):
            continue
        name = one.pretrained.names[origin]
        payload = {part: found for part, found in stored.cell.payload.items() if part in _SHARED}
        key = json.dumps([one.target, n, payload, asdict(one.pretrained.recipe.network)], sort_keys=True)
        group = groups.setdefault(
            key, _Group(one.target, n, one.results.method, one.results.measure, recipe, [one.study], one.code)
        )
        group.files[name], group.networks[name] = dict(one.pretrained.files[origin]), (one.pretrained, origin)
        group.gave.setdefault(name, {})[seed] = value
        needed = [by_key[key] for key in stored.cell.needs if key in by_key]
        pretraining = next((one for one in needed if one.cell.role == "pretrain"), None)
        known = pretraining is not None and origin.pretrain_step is None
        group.accuracy.setdefault(name, {})[seed] = (
            accuracy.get(pretraining.cell.key, np.nan) if known and pretraining else np.nan
        )
        group.data[name] = None if pretraining is None else PretrainRecipe.from_payload(pretraining.cell.payload).source
        group.of_classes[name] = one.kinds.get(origin.source, "classification") == "classification"
    return groups


_SHARED = ("target", "training", "method", "tuning")
"""What of a recipe has to be the same in studies that are taken together, beside the network of the study."""


class _Opened:
    """Scores groups; target and source data are read once."""

    def __init__(self, device: torch.device, scores: Sequence[str]) -> None:
        self._device, self._scores = device, scores
        self._targets: dict[str, Dataset] = {}
        self._sources: dict[tuple[DataSettings, str], Examples | None] = {}

    def case_of(self, group: _Group, n_draws: int) -> AuditCase | str:
        """The case of a group, or why there is none.

        Args:
            group: Two sources or more.
            n_draws: Draws of labels that scores are computed on.
        """
        dataset = self._target(group)
        train = dataset.train
        if group.n_target < (least := least_labels(train)):
            return f"{group.n_target} labels are too few to score with, which takes {least}"
        if not group.seeds:
            return "no seed has a result of every source"
        chosen = choose_scores(self._scores, kind=train.kind)
        names = list(group.files)
        rows = [self._draw(group, names, dataset, seed, chosen) for seed in group.seeds[:n_draws]]
        values = {name: np.array([row[name] for row in rows], dtype=np.float64) for name in rows[0]}
        measured = np.array([[group.gave[name][seed] for name in names] for seed in group.seeds], dtype=np.float64)
        return AuditCase(
            group.target,
            group.n_target,
            tuple(group.studies),
            tuple(names),
            measured.mean(axis=0),
            len(group.seeds),
            values,
        )

    def _draw(
        self, group: _Group, names: Sequence[str], dataset: Dataset, seed: int, chosen: Chosen
    ) -> dict[str, list[float]]:
        """The values of all scores and controls on one draw of labels, in the order of the sources."""
        drawn = few_shot(dataset.train, group.n_target, seed=stream_seed(seed, "subset"))
        target, settings = labelled_target(drawn, self._device), group.recipe.network
        found: dict[str, list[float]] = {name: [] for name in (*chosen.scores, SOURCE_ACCURACY, PIXELS, UNTRAINED)}
        untrained = random_candidate(
            settings,
            shape_as_read(dataset, settings),
            n_classes=None,
            seed=stream_seed(seed, "network"),
            device=self._device,
        ).network
        inputs = target.read_by(untrained)
        for name in names:
            networks, origin = group.networks[name]
            opened = networks.open(origin, seed, dataset)
            candidate = candidate_of(name, opened, of_classes=group.of_classes[name], device=self._device)
            view = target.view_of(candidate)
            for score, one in chosen.scores.items():
                estimate = value_of(one, view)
                found[score].append(estimate.value if estimate.usable else np.nan)
            found[SOURCE_ACCURACY].append(group.accuracy.get(name, {}).get(seed, np.nan))
            source = self._source(group.data[name], untrained)
            for control in (PIXELS, UNTRAINED):
                if source is None or source.inputs.shape[1:] != inputs.inputs.shape[1:]:
                    found[control].append(np.nan)
                    continue
                near, far = (
                    _rows(one) if control == PIXELS else features_of(untrained, one).numpy() for one in (inputs, source)
                )
                found[control].append(-kernel_distance(near, far))
        return found

    def _target(self, group: _Group) -> Dataset:
        key = json.dumps(group.recipe.as_payload()["target"], sort_keys=True)
        if key not in self._targets:
            self._targets[key] = target_data(group.recipe)
        return self._targets[key]

    def _source(self, data: DataSettings | None, network: Network) -> Examples | None:
        """Examples of a source as a network reads them; None where there are none, or it cannot read them."""
        if data is None:
            return None
        key = data, str(network.input)
        if key not in self._sources:
            try:
                seen = examples_as_read(read_data(data).train, network.input, data.data)
                self._sources[key] = spread_examples(
                    seen, scale=scale_of(network, seen), at_most=N_SOURCE_EXAMPLES, device=self._device
                )
            except (DataError, NetworkError):
                self._sources[key] = None
        return self._sources[key]


def _rows(examples: Examples) -> Float64[np.ndarray, "n d"]:
    rows: np.ndarray = examples.inputs.flatten(1).double().cpu().numpy()
    return rows


def kernel_distance(target: Float64[np.ndarray, "n d"], source: Float64[np.ndarray, "m d"]) -> float:
    """Squared maximum mean discrepancy of two samples, without bias (Gretton et al. 2012, equation 3).

        mean_{i != j} k(t_i, t_j) + mean_{i != j} k(s_i, s_j) - 2 mean_{i, j} k(t_i, s_j)

    with k(a, b) = exp(-||a - b||^2 / w), w the median of the squared distances within the target sample, which is the
    same for all sources.

    Args:
        target: At least 2 rows.
        source: At least 2 rows.
    """
    from scipy.spatial.distance import cdist

    within, across, apart = (
        cdist(a, b, "sqeuclidean") for a, b in ((target, target), (target, source), (source, source))
    )
    width = float(np.median(within[np.triu_indices(len(target), 1)])) or 1.0
    n, m = len(target), len(source)
    k_within, k_across, k_apart = (np.exp(-squares / width) for squares in (within, across, apart))
    return float((k_within.sum() - n) / (n * (n - 1)) + (k_apart.sum() - m) / (m * (m - 1)) - 2 * k_across.mean())
