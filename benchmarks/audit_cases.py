"""The finished studies of a store as cases of an audit: values of scores and controls beside what transfer gave."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from audit_agreement import PIXELS, SOURCE_ACCURACY, UNTRAINED, AuditCase
from jaxtyping import Float64
from scipy.spatial.distance import cdist

from transferscope.analyses.finished_study import Origin, StudyNetworks, finished_cells, pretrained_of, target_data
from transferscope.analyses.rank.candidates import candidate_of, labelled_target, least_labels, random_candidate
from transferscope.analyses.rank.hindsight import results_of
from transferscope.analyses.rank.scoring import Chosen, choose_scores, value_of
from transferscope.data.splits import few_shot
from transferscope.data.task import Dataset
from transferscope.diagnostics import Examples
from transferscope.diagnostics.features import features_of
from transferscope.errors import DataError, NetworkError, TransferscopeError
from transferscope.models import Network
from transferscope.settings.data import DataSettings
from transferscope.store import Store
from transferscope.study.cell import MethodRecipe, PretrainRecipe
from transferscope.study.facts import examples_as_read, read_data, shape_as_read
from transferscope.study.fitting import spread_examples
from transferscope.training import scale_of, stream_seed

N_SOURCE_EXAMPLES = 500
"""Training examples of a source, at even distances, that its inputs are compared by."""

_SHARED = ("target", "training", "method", "tuning")
"""What of a recipe has to be the same in studies that are taken together, beside the network of the study."""


def cases_of(store: Store, against: str, n_draws: int) -> list[AuditCase]:
    """A case for each target and number of labels; studies that do not count are printed with the reason.

    Studies of one target with the same number of labels, method and settings are taken together, with all of their
    sources. What transfer gave is a mean over all seeds.

    Args:
        store: Studies whose networks are kept.
        against: The method whose results count.
        n_draws: Draws of labels, those of the first seeds, that scores are computed on.
    """
    groups: dict[str, _Group] = {}
    for study in store.studies():
        try:
            own = _of_study(store, study.name, against)
        except TransferscopeError as error:
            print(f"{study.name}: {error}")
            continue
        for key, group in own.items():
            groups.setdefault(key, group).take_in(group)
    opened = _Opened()
    found = {key: opened.case_of(group, n_draws) for key, group in groups.items() if len(group.files) > 1}
    for case in found.values():
        if isinstance(case, str):
            print(case)
    return [case for case in found.values() if isinstance(case, AuditCase)]


@dataclass
class _Group:
    """Sources of one or several studies that differ in nothing else: one case of the audit, before it is scored."""

    target: str
    n_target: int
    recipe: MethodRecipe
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
        for name in [name for name in other.files if name not in self.files]:
            for part in ("files", "networks", "gave", "accuracy", "data", "of_classes"):
                getattr(self, part)[name] = getattr(other, part)[name]


def _of_study(store: Store, study: str, against: str) -> dict[str, _Group]:
    """The groups of one study by what has to be the same: target, labels, method and settings."""
    cells = finished_cells(store, study, before="its scores are audited")
    records, facts = store.records(study), store.study(study).facts
    pretrained = pretrained_of(cells, store.files, none="it has no pretrained network")
    results = results_of(cells, records, pretrained, against=against)
    assert results is not None
    target = str(facts.get("target", {}).get("name") or pretrained.recipe.target.data)
    accuracy = {
        records.key[i]: float(records.value[i])
        for i, name in enumerate(records.name)
        if name == "accuracy" and records.part[i] == "source_test" and records.step[i] is None
    }
    by_key = {stored.cell.key: stored for stored in cells}
    groups: dict[str, _Group] = {}
    for stored in cells:
        labels = stored.cell.labels
        if stored.cell.role != "method" or labels["method"] != against:
            continue
        recipe, origin = MethodRecipe.from_payload(stored.cell.payload), Origin.of(stored)
        n, seed = int(str(labels["n_target"])), int(str(labels["seed"]))
        value = results.values.get((origin, n, seed))
        if recipe.source is None or origin not in pretrained.names or value is None or not np.isfinite(value):
            continue
        name = pretrained.names[origin]
        payload = {part: found for part, found in stored.cell.payload.items() if part in _SHARED}
        key = json.dumps([target, n, payload, asdict(pretrained.recipe.network)], sort_keys=True)
        group = groups.setdefault(key, _Group(target, n, recipe))
        group.files[name], group.networks[name] = dict(pretrained.files[origin]), (pretrained, origin)
        group.gave.setdefault(name, {})[seed] = value
        needed = [by_key[key] for key in stored.cell.needs if key in by_key]
        pretraining = next((one for one in needed if one.cell.role == "pretrain"), None)
        known = None if pretraining is None or origin.pretrain_step is not None else pretraining.cell.key
        group.accuracy.setdefault(name, {})[seed] = accuracy.get(known or "", np.nan)
        group.data[name] = None if pretraining is None else PretrainRecipe.from_payload(pretraining.cell.payload).source
        kind = facts.get("sources", {}).get(origin.source, {}).get("kind", "classification")
        group.of_classes[name] = kind == "classification"
    return groups


class _Opened:
    """Scores groups; target and source data are read once."""

    def __init__(self) -> None:
        self._device = torch.device("cpu")
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
            return f"{group.target}: {group.n_target} labels are too few to score with, which takes {least}"
        if not group.seeds:
            return f"{group.target}: no seed has a result of every source"
        chosen = choose_scores((), kind=train.kind)
        names = list(group.files)
        rows = [self._draw(group, names, dataset, seed, chosen) for seed in group.seeds[:n_draws]]
        values = {name: np.array([row[name] for row in rows], dtype=np.float64) for name in rows[0]}
        measured = np.array([[group.gave[name][seed] for name in names] for seed in group.seeds], dtype=np.float64)
        return AuditCase(
            group.target,
            group.n_target,
            tuple(names),
            measured.mean(axis=0),
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
    within, across, apart = (
        cdist(a, b, "sqeuclidean") for a, b in ((target, target), (target, source), (source, source))
    )
    width = float(np.median(within[np.triu_indices(len(target), 1)])) or 1.0
    n, m = len(target), len(source)
    k_within, k_across, k_apart = (np.exp(-squares / width) for squares in (within, across, apart))
    return float((k_within.sum() - n) / (n * (n - 1)) + (k_apart.sum() - m) / (m * (m - 1)) - 2 * k_across.mean())
