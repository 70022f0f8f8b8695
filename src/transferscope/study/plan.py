"""Planning of the cells of a study: their recipes, needs and order."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from itertools import product
from typing import Any

import numpy as np

from transferscope.data.task import Dataset
from transferscope.diagnostics import DIAGNOSTICS
from transferscope.errors import DataError, SettingsError
from transferscope.methods import PRETRAINING_VERSION, Control, called_of, check_task
from transferscope.store import PlannedCell, Store, StudyRow, gc_paused
from transferscope.study.cell import CellTuning, DiagnoseRecipe, MethodRecipe, PretrainRecipe, method_identity
from transferscope.study.facts import DataFacts, StudyData, count_leakage, load_data, surroundings
from transferscope.study.resolved import pretrained_as, resolved, source_of_recipe
from transferscope.study.settings import DiagnosticSettings
from transferscope.study.spec import StudySpec
from transferscope.training import TrainingSettings, check_data, choose_device, choose_precision


@dataclass(frozen=True)
class StudyPlan:
    """Everything the store needs about a study before its runs.

    Attributes:
        cells: Its cells, in the order of execution.
        arrays: Arrays of the study: "target_test_labels", and "target_test_groups" where examples have groups.
        data: Facts of its data that cells depend on; None for a study without data.
    """

    study: StudyRow
    cells: tuple[PlannedCell, ...]
    arrays: Mapping[str, np.ndarray]
    data: DataFacts | None = None


def plan_study(spec: StudySpec, store: Store | None = None) -> StudyPlan:
    """Load the data of a study, check them, and plan its cells.

    Raises:
        DataError: The data are missing, or the study cannot use them.
        NetworkError: The network cannot read the data.
        SettingsError: Two methods or sources are identical.
    """
    planned = [] if store is None else [row.facts for row in store.studies() if row.name == spec.name]
    asked, spec = spec, with_precision(spec, planned[0] if planned else {})
    data = load_data(spec)
    _check_tasks(spec, data)
    leakage = count_leakage(data)
    facts = {**data.as_json(), "leakage": leakage, **surroundings()}
    if spec is not asked:
        of_pretraining = asked.pretraining is not None and asked.pretraining.precision == "auto"
        facts["precision"] = (spec.pretraining if of_pretraining and spec.pretraining else spec.training).precision
    controls = [name for name, method in spec.methods.items() if isinstance(method, Control)]
    if controls:
        facts["controls"] = controls
    facts["names"] = called_of(spec.methods)
    facts["planned_seeds"] = planned_seeds(planned[0] if planned else None, spec.seeds, is_race=spec.race is not None)
    facts["recipes"] = _recipes(spec, data.facts)
    if (grouped := data.target.test.groups) is not None:
        facts["target_test_groups"] = len(np.unique(grouped))
    created = datetime.now(UTC).isoformat(timespec="seconds")
    study = StudyRow(spec.name, spec.as_json(), facts, created)
    cells = tuple(plan_cells(spec, data.facts))
    test = data.target.test
    groups = {} if test.groups is None else {"target_test_groups": test.groups}
    return StudyPlan(study, cells, {"target_test_labels": test.labels, **groups}, data.facts)


def planned_seeds(before: Mapping[str, Any] | None, seeds: Sequence[int], *, is_race: bool) -> int | None:
    """Return the number of seeds fixed before the first run; None for a race.

    Args:
        before: The facts of the study at its first planning, unaffected by added seeds; None for a new one.
    """
    fixed = before.get("planned_seeds") if before is not None else None if is_race else len(seeds)
    return fixed if isinstance(fixed, int) else None


def with_precision(spec: StudySpec, facts: Mapping[str, Any]) -> StudySpec:
    """Return a study with "auto" replaced by a precision.

    Args:
        facts: Facts of the study from an earlier planning, maybe on another machine, whose choice is kept. Empty for a
            new study, which uses `choose_precision` on this machine.

    Returns:
        The study, unchanged if no precision is "auto".
    """
    recipes = {"training": spec.training, "pretraining": spec.pretraining}
    open_ones = {name: one for name, one in recipes.items() if one is not None and one.precision == "auto"}
    if not open_ones:
        return spec
    chosen = facts.get("precision")
    if chosen not in ("float32", "bfloat16"):
        chosen = choose_precision("auto", choose_device(spec.engine.device))
    changes: dict[str, Any] = {name: replace(one, precision=chosen) for name, one in open_ones.items()}
    return replace(spec, **changes)


def _recipes(spec: StudySpec, data: DataFacts) -> list[dict[str, Any]]:
    """Describe the training of each arm that takes steps and the origin of its defaults, by numbers of labels."""
    rows: dict[tuple[str, str | None, str], dict[str, Any]] = {}
    for name, method in spec.methods.items():
        sources = [*spec.sources] if method.needs_source else [None]
        for source, n in product(sources if method.takes_steps else (), _numbers(spec, data)):
            traits = data.traits(method, source)
            words = resolved(spec, name, traits, n).words
            row: dict[str, Any] = {"method": name, "source": source, "labels": [], "training": words}
            row["from"] = source_of_recipe(spec, method, traits)
            rows.setdefault((name, source, words), row)["labels"].append(n)
    return list(rows.values())


def _numbers(spec: StudySpec, data: DataFacts) -> tuple[int, ...]:
    return spec.target.labels or (data.n_target,)


def _check_tasks(spec: StudySpec, data: StudyData) -> None:
    """Check that every method can learn the target from every source, as it is and tuned."""
    _check_training("[training]", spec.training, data.target)
    if spec.pretraining is not None:
        for name, dataset in data.sources.items():
            _check_training(f"[pretraining] of {name}:", spec.pretraining, dataset)
    for name, method in spec.methods.items():
        sources = [source for source in spec.sources if source in data.sources or not method.uses_source]
        traits = data.facts.traits(method, sources[0] if method.needs_source and sources else None)
        own = resolved(spec, name, traits, len(data.target.train))
        method = own.method
        tried = [(f"[methods.{name}]", method)]
        for setting, values in own.grid.items():
            if setting in {one.name for one in fields(method)}:  # type: ignore[arg-type]
                place = f"[tuning.grid.{name}] {setting}"
                tried += [(f"{place} = {value!r}:", replace(method, **{setting: value})) for value in values]  # type: ignore[type-var]
        for source in sources if method.needs_source else [None]:
            for place, one in tried:
                try:
                    check_task(one, data.target, None if source is None else data.sources.get(source))
                except DataError as error:
                    raise DataError(f"{place} {error}") from error


def _check_training(where: str, training: TrainingSettings, dataset: Dataset) -> None:
    try:
        check_data(training, dataset.train)
    except DataError as error:
        raise DataError(f"{where} {error}") from error


def plan_cells(spec: StudySpec, data: DataFacts) -> list[PlannedCell]:
    """Return the cells of a study.

    One pretraining cell for each source, source size and seed, if any method starts from a pretrained network; one
    method cell for each method, source, source size, pretraining step, target size and seed; one cell for each
    diagnostic of each method cell that starts from the last step, if it applies. A method without a source has one cell
    for all sources. Cells are sorted by seed, so that whole seeds are complete first, and follow their needs.

    Raises:
        SettingsError: Two methods or two sources are identical.
    """
    pretrainings = list(_pretrainings(spec, data))
    numbers = _numbers(spec, data)
    arms = [[*alike] for alike in zip(*(_arms(spec, data, n) for n in numbers), strict=True)]
    for of_number in zip(*arms, strict=True):
        _check_distinct(of_number)
    with gc_paused():
        first: dict[tuple[int, int], PlannedCell] = {}  # by arm and number of labels
        return [cell for seed in spec.seeds for cell in _cells_of_seed(seed, pretrainings, arms, numbers, first)]


def _cells_of_seed(
    seed: int,
    pretrainings: Sequence["_Arm"],
    arms: Sequence[Sequence["_Arm"]],
    numbers: Sequence[int],
    first: dict[tuple[int, int], PlannedCell],
) -> Iterator[PlannedCell]:
    pretrained = {}
    for one in pretrainings:
        key = cell_key(one.shared, seed=seed, n_source=one.n_source)
        cell = PlannedCell(key, "pretrain", _labels(one, None, seed), one.payload)
        pretrained[one.source, one.n_source] = cell
    yield from pretrained.values()
    for i, of_numbers in enumerate(arms):
        fits = []
        for n, arm in zip(numbers, of_numbers, strict=True):
            needs = (pretrained[arm.source, arm.n_source].key,) if arm.pretrained else ()
            fits.append(_method_cell(arm, n, seed, needs, first.get((i, n))))
            if arm.chosen_once:
                first.setdefault((i, n), fits[-1])
        yield from fits
        measured = zip(fits, of_numbers, strict=True)
        yield from (_diagnose_cell(diagnosis, fit) for fit, arm in measured for diagnosis in arm.diagnoses)


@dataclass(frozen=True, slots=True)
class _Diagnosis:
    """A diagnostic of the cells of an arm."""

    name: str
    shared: str
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Arm:
    """A method from a source of a size with a number of labels, or a pretraining; shared by the cells of all seeds."""

    shared: str
    payload: Mapping[str, Any]
    method: str
    source: str | None
    n_source: int | None
    pretrained: bool = False
    pretrain_step: int | None = None
    diagnoses: tuple[_Diagnosis, ...] = ()
    chosen_once: bool = False


def _method_cell(arm: _Arm, n_target: int, seed: int, needs: tuple[str, ...], first: PlannedCell | None) -> PlannedCell:
    needs = needs if first is None else (*needs, first.key)
    shared = arm.shared if arm.pretrain_step is None else f"{arm.shared}@{arm.pretrain_step}"
    key = cell_key(shared, seed=seed, n_target=n_target, n_source=arm.n_source, needs=needs)
    return PlannedCell(key, "method", _labels(arm, n_target, seed), arm.payload, needs)


def _diagnose_cell(diagnosis: _Diagnosis, fit: PlannedCell) -> PlannedCell:
    needs = (*fit.needs, fit.key)
    key = cell_key(diagnosis.shared, seed=0, needs=needs)  # seed and sizes are in the key of the method cell
    return PlannedCell(key, "diagnose", {**fit.labels, "diagnostic": diagnosis.name}, diagnosis.payload, needs)


def _labels(arm: _Arm, n_target: int | None, seed: int) -> dict[str, str | int | float | None]:
    labels: dict[str, str | int | float | None] = {
        "source": arm.source,
        "method": arm.method,
        "n_target": n_target,
        "n_source": arm.n_source,
        "seed": seed,
    }
    return labels if arm.pretrain_step is None else {**labels, "pretrain_step": arm.pretrain_step}


def _pretrainings(spec: StudySpec, data: DataFacts) -> Iterator[_Arm]:
    if spec.pretraining is None or not any(method.start == "pretrained" for method in spec.methods.values()):
        return
    arithmetic = _arithmetic(spec)
    for name, source in spec.sources.items():
        if source.as_data is None:
            continue
        contents = {"source": data.sources[name].content}
        for n_source in _source_sizes(spec, data, name):
            recipe = pretrained_as(spec, data.own_traits, n_source)
            made = PretrainRecipe(source.as_data, spec.network, recipe, spec.checkpoints, contents)
            parts = {
                "role": "pretrain",
                "version": PRETRAINING_VERSION,
                "source": data.sources[name].fingerprint,
                "network": spec.network.identity,
                "pretraining": asdict(recipe),
                "checkpoints": spec.checkpoints,
                "least_momentum": data.least_momentum,
                **arithmetic,
            }
            yield _Arm(shared_digest(parts), made.as_payload() | arithmetic, "pretrain", name, n_source)


def _arms(spec: StudySpec, data: DataFacts, n_target: int) -> Iterator[_Arm]:
    """Yield every method from every source and size that it can transfer from, with a number of labels."""
    for name, method in spec.methods.items():
        if not method.needs_source:
            yield _arm(spec, data, name, None, n_target)
            continue
        for source, settings in spec.sources.items():
            if settings.as_data is not None:
                arm = replace(_arm(spec, data, name, source, n_target), pretrained=method.start == "pretrained")
                steps = (None, *spec.checkpoints) if arm.pretrained else (None,)
                sizes = _source_sizes(spec, data, source)
                for n, step in product(sizes, steps):
                    # the report shows those of the last networks alone
                    diagnoses = arm.diagnoses if step is None else ()
                    yield replace(arm, n_source=n, pretrain_step=step, diagnoses=diagnoses)
            elif not method.uses_source:
                yield _arm(spec, data, name, source, n_target)


def _source_sizes(spec: StudySpec, data: DataFacts, source: str) -> list[int]:
    """Return the pretraining sizes; 0 is training from scratch, which depends on no source."""
    n_train = data.sources[source].n_train
    assert n_train is not None
    return [size for size in spec.source_sizes or (n_train,) if size > 0]


def _arm(spec: StudySpec, data: DataFacts, name: str, source: str | None, n_target: int) -> _Arm:
    own = resolved(spec, name, data.traits(spec.methods[name], source), n_target)
    method, training = own.method, own.training
    tuning = CellTuning(dict(own.grid)) if own.grid else None
    arithmetic = _arithmetic(spec)
    origin = None if source is None else spec.sources[source]
    network = spec.network if origin is None or not origin.is_network else origin.pretrained(spec.network).network
    followed = {one.scope.every for one in spec.diagnostics.values() if one.scope.every is not None}
    recipe = MethodRecipe(
        spec.target.as_data,
        origin,
        network,
        training,
        method,
        tuning,
        tuple(sorted(followed)) if spec.diagnostics and method.is_diagnosed else None,
        data.sources[source].fingerprint if source and origin and origin.is_network else None,
        {"target": data.target}
        | ({"source": data.sources[source].content} if source and origin and origin.as_data else {}),
        spec.target.draw,
    )
    shared = shared_digest(
        {
            "role": "method",
            "method": method_identity(method),
            "target": data.target,
            "source": None if source is None else data.sources[source].fingerprint,
            "network": network.identity,
            "training": asdict(training),
            "tuning": None if tuning is None else asdict(tuning),
            "least_momentum": data.least_momentum if method.start == "random" else None,
            **({} if spec.target.draw == "stratified" else {"draw": spec.target.draw}),
            **arithmetic,
        }
    )
    has_data = origin is not None and origin.data is not None
    diagnoses = tuple(
        _diagnosis(recipe, label, settings, arithmetic)
        for label, settings in spec.diagnostics.items()
        if method.is_diagnosed and (has_data or not settings.diagnostic.needs_source)
    )
    return _Arm(
        shared,
        recipe.as_payload() | arithmetic,
        name,
        source,
        0 if source is None else None,
        diagnoses=diagnoses,
        chosen_once=tuning is not None,
    )


def _diagnosis(
    recipe: MethodRecipe, name: str, settings: DiagnosticSettings, arithmetic: Mapping[str, Any]
) -> _Diagnosis:
    # the rest is in its needs
    parts = {"role": "diagnose", "version": settings.diagnostic.version, **settings.as_json()}
    if origin := DIAGNOSTICS.identity(type(settings.diagnostic)):
        parts |= {"name": settings.diagnostic.name, "origin": origin}
    return _Diagnosis(name, shared_digest(parts), {**DiagnoseRecipe(recipe, settings).as_payload(), **arithmetic})


def _arithmetic(spec: StudySpec) -> dict[str, Any]:
    """Return the settings on which the last digits of a result depend, for a cell's key and payload; see
    `EngineSettings`."""
    return {"threads": spec.engine.threads, "device": choose_device(spec.engine.device).type}


def _check_distinct(arms: Sequence[_Arm]) -> None:
    """Refuse two names for the same settings, which would have one key."""
    seen: dict[tuple[str, int | None, int | None], _Arm] = {}
    measured: dict[str, str] = {}
    for arm in arms:
        twin = seen.setdefault((arm.shared, arm.n_source, arm.pretrain_step), arm)
        for one in arm.diagnoses:
            if (other := measured.setdefault(one.shared, one.name)) != one.name:
                raise SettingsError(f"[diagnostics.{other}] and [diagnostics.{one.name}] are the same; remove one")
        if twin is not arm and twin.method != arm.method:
            raise SettingsError(
                f"[methods.{twin.method}] and [methods.{arm.method}] have the same settings; change or remove one"
            )
        if twin is not arm:
            raise SettingsError(f"[sources.{twin.source}] and [sources.{arm.source}] are the same; remove one")


def shared_digest(parts: Mapping[str, Any]) -> str:
    """Return a digest of the common parts of many cells: settings, fingerprints, versions (JSON values)."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def cell_key(
    shared: str, *, seed: int, n_target: int | None = None, n_source: int | None = None, needs: Sequence[str] = ()
) -> str:
    """Return the key of a cell, 32 hexadecimal digits, from `shared_digest` and the rest that can change the result."""
    text = f"{shared}|{seed}|{n_target}|{n_source}|{','.join(needs)}"
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
