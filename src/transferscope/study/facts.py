"""The data of a study, loaded once at planning: their facts, and checks that the study can use them."""

import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch

from transferscope.data.leakage import check_leakage, remarks_of
from transferscope.data.load import check_name, load
from transferscope.data.task import Dataset, LabelledSet, TransferTask, check_label_units
from transferscope.data.transforms import apply_transforms
from transferscope.diagnostics import check_labels_suit
from transferscope.errors import DataError, SettingsError, TransferscopeError
from transferscope.files import content_digest, require_file
from transferscope.methods import Method
from transferscope.methods.common import LEAST_MOMENTUM, batch_norms, check_batch_norm, slow_statistics
from transferscope.methods.recipes import Traits, augmentation_of, with_recipe
from transferscope.methods.tuning import combinations, with_settings
from transferscope.models import (
    LoadReport,
    Network,
    NetworkInput,
    NetworkSettings,
    Pretrained,
    build_network,
    input_of,
    open_pretrained,
)
from transferscope.models.families import Family, family_of
from transferscope.models.pretrained import fingerprint_of
from transferscope.once import let_go, made_once
from transferscope.settings.data import DataSettings
from transferscope.study.backends.backend import thread_limit
from transferscope.study.passes import EXAMPLES, Passes
from transferscope.study.read_alike import check_columns, check_tokenizer, files_of
from transferscope.study.resolved import resolved
from transferscope.study.spec import StudySpec
from transferscope.training import TrainingSettings, choose_device, scale_of, to_tensors
from transferscope.training.tensors import check_kind

MAX_LEAKAGE = 0.05
"""Share of target test examples that may also be in a training set: a few exact copies are natural in coarse data."""

_PACKAGES = ("transferscope", "torch", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """The facts of a source that cells depend on.

    Attributes:
        fingerprint: Checksum of the data, or of the network's file.
        n_train: Number of training examples; None for a network.
    """

    fingerprint: str
    n_train: int | None

    @property
    def content(self) -> str:
        """The checksum of the data without the further test sets."""
        return self.fingerprint.partition(" ")[0]


@dataclass(frozen=True, slots=True)
class DataFacts:
    """The facts of the data of a study that cells depend on.

    Attributes:
        target: Fingerprint of the target.
        least_momentum: Momentum of batch normalisation for runs from random weights, if the network's own is smaller;
            else None.
        own_traits: Inputs of the recipes, with the study's own network.
        small: Family of the small networks that methods create.
        families: Families of the source networks.
    """

    target: str
    n_target: int
    sources: Mapping[str, SourceFacts]
    least_momentum: float | None = None
    own_traits: Traits = field(default_factory=lambda: Traits("mlp"))
    small: Family = "mlp"
    families: Mapping[str, Family] = field(default_factory=dict)

    def traits(self, method: Method, source: str | None) -> Traits:
        """Return the inputs of a method's recipe, for a source or none."""
        if not method.uses_network:
            return replace(self.own_traits, family=self.small)
        all_own = bool(self.sources) and all(one.n_train is not None for one in self.sources.values())
        family = self.own_traits.family if source is None else self.families.get(source, self.own_traits.family)
        return replace(self.own_traits, family=family, is_own=all_own)


@dataclass(frozen=True, slots=True)
class PretrainedSource:
    """A source that is a network.

    Attributes:
        checksum: SHA-256 of its file; for a named network without a file, a digest of its weights.
        input: Description of its input conversion; "" for unchanged inputs, standardised by the target.
        follows_batches: Whether it has batch normalisation, whose statistics are updated on the target's batches.
    """

    pretrained: Pretrained
    checksum: str
    report: LoadReport
    input: str
    family: Family
    follows_batches: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the facts for the report, as JSON values."""
        described = {
            "network": self.checksum,
            "file": self.pretrained.name,
            "matched_numbers": self.report.matched,
            "backbone_numbers": self.report.backbone,
            "left_out": list(self.report.unexpected),
        }
        if self.pretrained.weights is not None and self.pretrained.network.module is not None:
            described["architecture"] = self.pretrained.network.name
        if self.report.missing:
            described["lacking"] = list(self.report.missing)
        if self.follows_batches:
            described["follows_batches"] = True
        return described | ({"input": self.input} if self.input else {})


@dataclass(frozen=True)
class StudyData:
    """The loaded data of a study.

    Attributes:
        sources: The sources that are data, by name.
        networks: The sources that are networks, by name.
        held_out: The further test sets of each source that has any, by name.
        least_momentum: As in `DataFacts`.
        passes: Time of passes through the networks, by name.
        family: Family of the study's own network, if it is built.
    """

    target: Dataset
    sources: Mapping[str, Dataset]
    networks: Mapping[str, PretrainedSource]
    held_out: Mapping[str, Mapping[str, Dataset]] = field(default_factory=dict)
    least_momentum: float | None = None
    passes: Mapping[str, Passes] = field(default_factory=dict)
    family: Family = "mlp"

    @property
    def facts(self) -> DataFacts:
        """The facts that cells depend on."""
        data = {name: SourceFacts(self._fingerprint(name), len(source.train)) for name, source in self.sources.items()}
        networks = {name: SourceFacts(file.checksum, None) for name, file in self.networks.items()}
        sources = {**data, **networks}
        families = {name: file.family for name, file in self.networks.items()}
        train = self.target.train
        grey = train.is_image and train.input_shape[0] == 1
        traits = Traits(self.family, augmentation_of(train), on_grid=train.grid is not None, is_grey=grey)
        small: Family = "small-cnn" if train.is_image else "mlp"
        return DataFacts(self.target.fingerprint, len(train), sources, self.least_momentum, traits, small, families)

    def _fingerprint(self, source: str) -> str:
        """Return the fingerprint of a source and of its further test sets, if any."""
        further = [f"{name} {data.test.fingerprint}" for name, data in self.held_out.get(source, {}).items()]
        return " ".join([self.sources[source].fingerprint, *further])

    def as_json(self) -> dict[str, Any]:
        """Return the facts of the data for the report, as JSON values."""
        described = {name: describe(source) for name, source in self.sources.items()}
        described |= {name: file.as_json() for name, file in self.networks.items()}
        passes = {name: asdict(one) for name, one in self.passes.items()}
        return {"target": describe(self.target), "sources": described, "passes": passes}


def read_data(data: DataSettings) -> Dataset:
    """Load the data set of the settings."""
    return load(data.data, transforms=data.transforms, limit=data.limit, test_limit=data.test_limit)


def as_read(dataset: Dataset, data: DataSettings, network: NetworkSettings) -> Dataset:
    """Return a data set with the image size and channels of a network; unchanged without input settings.

    The test part is kept in memory. Raises like `examples_as_read`.
    """
    known = input_of(network)
    if known is None or not known.transforms:
        return dataset
    train = examples_as_read(dataset.train, known, dataset.name)
    return replace(dataset, train=train, test=_test_as_read(data, known))


def examples_as_read(examples: LabelledSet, known: NetworkInput | None, name: str) -> LabelledSet:
    """Return examples as a network reads them; unchanged without input settings.

    Raises:
        DataError: They cannot be converted to the network's input, such as vectors to an image size.
    """
    if known is None or not known.transforms:
        return examples
    one = examples.take(np.arange(1))
    return apply_transforms(Dataset(name, examples, one, {}), known.transforms, seed=0).train


@made_once(lambda *asked: asked)
def _test_as_read(data: DataSettings, known: NetworkInput) -> LabelledSet:
    whole = read_data(data)
    return examples_as_read(whole.test, known, whole.name)


def shape_as_read(dataset: Dataset, network: NetworkSettings) -> tuple[int, ...]:
    """Return the shape of one input as a network reads it; raises like `examples_as_read`."""
    return examples_as_read(dataset.train.take(np.arange(1)), input_of(network), dataset.name).input_shape


def load_data(spec: StudySpec) -> StudyData:
    """Load the data of a study, and check that it can use them.

    Faults of all data sets are reported together.

    Raises:
        DataError: Data are missing or invalid, sizes exceed the data, source and target differ in shape, or target test
        examples are in training data; one line for each fault.
        NetworkError: The network cannot read inputs of this shape, or a file of weights belongs to another network.
        SettingsError: A name or option of the data is unknown, or [training] requests statistics of batch normalisation
        from a network without it.
    """
    faults: list[TransferscopeError] = []
    networks = {name: source.pretrained(spec.network) for name, source in spec.sources.items() if source.is_network}
    checksums = {}
    for name, pretrained in networks.items():
        if pretrained.weights is not None:
            with _noted(faults, f"[sources.{name}]"):
                checksums[name] = checksum(pretrained.weights)
    wanted = _wanted(spec)
    for where, data in wanted.items():
        with _noted(faults, where):
            check_name(data.data, data.transforms)
    _raise_all(faults)
    loaded = {}
    for where, data in wanted.items():
        with _noted(faults, where):
            loaded[where] = read_data(data)
    _check_amounts(spec, loaded, faults)
    for where, dataset in loaded.items():
        with _noted(faults, where):
            check_tokenizer(dataset, [spec.network, *(one.network for one in networks.values())])
    if "[target]" in loaded:
        with _noted(faults, "[target]"):
            check_columns(spec.target.data, files_of(networks.values()))
    _raise_all(faults)
    target = loaded["[target]"]
    for label, settings in spec.diagnostics.items():
        with _noted(faults, f"[diagnostics.{label}]"):
            check_labels_suit(settings.diagnostic, target.train.kind)
    sources = {name: loaded[f"[sources.{name}]"] for name, source in spec.sources.items() if source.data is not None}
    held_out: dict[str, dict[str, Dataset]] = {}
    for name, source in sources.items():
        for key in spec.sources[name].held_out:
            further = loaded[f"[sources.{name}] held_out {key}"]
            held_out.setdefault(name, {})[key] = further
            with _noted(faults, ""):  # another test part is refused where it does not fit
                replace(source, name=f"{name} with held_out {key}", test=further.test)
                check_label_units(further, source)
    least_momentum, passes = None, dict[str, Passes]()
    family: Family = "mlp"
    builds = any(one.uses_network and one.start == "random" for one in spec.methods.values())
    if spec.network.module is None or builds or sources:
        with _noted(faults, "" if spec.network.module is None else "[network]"):  # whether it reads such inputs at all
            family, least_momentum = _try_network(spec, target, list(sources.values()), passes)
        _raise_all(faults)
    opened = {}
    for name, pretrained in networks.items():
        with _noted(faults, f"[sources.{name}]"):
            opened[name] = _opened(pretrained, target, spec, checksums.get(name), passes)
    _raise_all(faults)
    if spec.race is not None and not target.train.is_tokens:
        few = _few(target, spec.network, spec.training.batch_size)
        others = {method.name: method.own_network(few) for method in spec.methods.values()}
        passes.update({name: _timed(network, few, spec, {}) for name, network in others.items() if network is not None})
    let_go()
    return StudyData(target, sources, opened, held_out, least_momentum, passes, family)


def _wanted(spec: StudySpec) -> dict[str, DataSettings]:
    wanted = {"[target]": spec.target.as_data}
    for name, source in spec.sources.items():
        if source.as_data is not None:
            wanted[f"[sources.{name}]"] = source.as_data
            wanted |= {f"[sources.{name}] held_out {key}": data for key, data in source.held_out_data.items()}
    return wanted


def _try_network(
    spec: StudySpec, target: Dataset, sources: Sequence[Dataset], passes: dict[str, Passes]
) -> tuple[Family, float | None]:
    """Build the study's network and check that it can learn every data set; return its family, and `least_momentum`."""
    shape = shape_as_read(target, spec.network)
    check_kind(target.train, input_of(spec.network))
    network = build_network(spec.network, shape, target.train.n_outputs, seed=0)
    for dataset, training in ((target, spec.training), *((source, spec.pretraining) for source in sources)):
        network.on_grid(dataset.train.grid)
        if training is not None:
            training.check_labels(on_grid=dataset.train.grid is not None)
    family = family_of(network, spec.network.name)
    if sources and any(method.start == "pretrained" for method in spec.methods.values()):
        _check_methods(spec, network, family, target)
    if spec.race is not None:
        passes[spec.network.name] = _passes(network, family, target, spec.network, spec)
    return family, LEAST_MOMENTUM if slow_statistics(network) else None


def _opened(
    pretrained: Pretrained, target: Dataset, spec: StudySpec, digest: str | None, passes: dict[str, Passes]
) -> PretrainedSource:
    """Open a pretrained network and check it against the target; its digest is that of its file, if it has one."""
    shape = shape_as_read(target, pretrained.network)
    opened = open_pretrained(pretrained, shape)
    opened.network.on_grid(target.train.grid)
    known = input_of(pretrained.network)
    check_kind(target.train, known)
    check_kind(target.test, known)
    family = family_of(opened.network, pretrained.network.name)
    trained = _check_methods(spec, opened.network, family, target)
    moved = any(training.batch_norm == "train" for training in trained)
    follows = moved and bool(batch_norms(opened.network.features))
    words = "" if known is None else reading_words(known, target.provenance.get("size"))
    checksum = digest or fingerprint_of(pretrained, shape)
    if spec.race is not None:
        passes[pretrained.network.name] = _passes(opened.network, family, target, pretrained.network, spec)
    return PretrainedSource(pretrained, checksum, opened.report, words, family, follows)


def reading_words(known: NetworkInput, size: str | None) -> str:
    """Describe how a network reads its inputs, and how images of mixed sizes were resized to a `size` before."""
    side = known.size if known.resize is None else known.resize
    if size is None or side is None or known.fit == "none" or int(size) == side:
        return str(known)
    return f"{known}; images of mixed sizes are first resized to {size} x {size} pixels (?size={side} for {side})"


def _passes(network: Network, family: Family, target: Dataset, settings: NetworkSettings, spec: StudySpec) -> Passes:
    """Measure the time of passes through a network on this machine, for a race's estimates of run times."""
    few = _few(target, settings, EXAMPLES if ":" in settings.name else spec.training.batch_size)
    methods = {
        name: with_recipe(spec.recipe, method, Traits(family), given=spec.given_in(f"methods.{name}"))
        for name, method in spec.methods.items()
    }
    return _timed(network, few, spec, methods)


def _few(target: Dataset, settings: NetworkSettings, n: int) -> LabelledSet:
    """Return examples for timing: a whole batch for the built-in networks, which are small."""
    few = target.train.take(np.linspace(0, len(target.train) - 1, n).astype(np.int64))
    return examples_as_read(few, input_of(settings), target.name)


def _timed(network: Network, few: LabelledSet, spec: StudySpec, methods: Mapping[str, Method]) -> Passes:
    inputs = to_tensors(few, scale_of(network, few)).batch(torch.arange(len(few))).inputs
    network.eval().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    with thread_limit(spec.engine.threads):
        measured = Passes.of(network, inputs, methods)
    if few.is_tokens:
        lengths = (few.inputs[:, 0] >= 0).sum(axis=-1)
        measured = replace(measured, reading=round(float(lengths.mean() / max(lengths.max(), 1)), 3))
    return measured if choose_device(spec.engine.device).type == "cpu" else replace(measured, seconds=0.0)


def _check_methods(spec: StudySpec, network: Network, family: Family, target: Dataset) -> list[TrainingSettings]:
    """Refuse a pretrained network that the methods cannot start from with any of their settings.

    Returns:
        How methods with training steps train it.
    """
    check_batch_norm(network, spec.training)
    trained, traits = [], Traits(family, on_grid=target.train.grid is not None)
    for name, method in spec.methods.items():
        if method.start != "pretrained":
            continue
        own = resolved(spec, name, traits, len(target.train))
        trained += [own.training] if method.takes_steps else []
        for settings in combinations(own.grid, own.method, own.training):
            tried, training = with_settings(own.method, own.training, settings)
            try:
                check_batch_norm(network, training)
                tried.check_network(network)
            except SettingsError as error:
                raise SettingsError(f"[methods.{name}] {error}") from error
    return trained


@contextmanager
def _noted(faults: list[TransferscopeError], where: str) -> Iterator[None]:
    try:
        yield
    except TransferscopeError as error:
        faults.append(type(error)(f"{where} {error}".strip()))


def _raise_all(faults: Sequence[TransferscopeError]) -> None:
    if len(faults) == 1:
        raise faults[0]
    if faults:
        listed = "".join(f"\n  {fault}" for fault in faults)
        raise DataError(f"the data of this study have {len(faults)} mistakes:{listed}")


def _check_amounts(spec: StudySpec, loaded: Mapping[str, Dataset], faults: list[TransferscopeError]) -> None:
    """Check that there are as many examples of each kind as the study needs; data that failed to load are skipped."""
    target = loaded.get("[target]")
    if target is not None:
        faults += _too_many("[target] labels", spec.target.labels, target, spec.target.limit)
        for_classes = {
            "metric": spec.target.metric,
            "draw": None if spec.target.draw == "stratified" else spec.target.draw,
        }
        faults += [
            DataError(
                f"[target] {key} = {value!r} is for one class of each input, and the task of {target.name} is "
                f"{target.train.kind}; leave it out"
            )
            for key, value in for_classes.items()
            if value is not None and target.train.kind != "classification"
        ]
    for where, dataset in loaded.items():
        classes = dataset.train.classes
        if classes is not None and len(classes) == 1:
            faults.append(
                DataError(
                    f"{where} {dataset.name} has the one class {classes[0]!r}; give data with at least two classes"
                )
            )
    for name, settings in spec.sources.items():
        source = loaded.get(f"[sources.{name}]")
        if source is not None:
            faults += _too_many(f"[pretraining] for {name}: sizes", spec.source_sizes, source, settings.limit)


def count_leakage(data: StudyData) -> dict[str, Any]:
    """Count target test examples in training sets, by source ("" for none); raises DataError above `MAX_LEAKAGE`."""
    tasks = {"": TransferTask(data.target)}
    tasks |= {name: TransferTask(data.target, source) for name, source in data.sources.items()}
    reports = {name: check_leakage(task) for name, task in tasks.items()}
    for report in reports.values():
        report.require_at_most(MAX_LEAKAGE)
    return {name: asdict(report) for name, report in reports.items()}


def describe(dataset: Dataset) -> dict[str, Any]:
    """Describe a data set, as JSON values."""
    on_grid: dict[str, Any] = {} if dataset.train.grid is None else {"grid": list(dataset.train.grid)}
    if dataset.train.kind == "segmentation":
        cells = [np.bincount(part.labels[part.labels >= 0]) for part in (dataset.train, dataset.test)]
        usual = int(cells[0].argmax())
        share = cells[1][usual] / cells[1].sum() if usual < len(cells[1]) else 0.0
        on_grid |= {"usual_class": usual, "usual_share": float(share)}
    return {
        "name": dataset.name,
        "kind": dataset.train.kind,
        **on_grid,
        "input_shape": list(dataset.train.input_shape),
        "n_outputs": dataset.train.n_outputs,
        "n_train": len(dataset.train),
        "n_test": len(dataset.test),
        "classes": None if dataset.train.classes is None else list(dataset.train.classes),
        "class_counts": {"train": _class_counts(dataset.train), "test": _class_counts(dataset.test)},
        "remarks": list(remarks_of(dataset)),
        "fingerprint": dataset.fingerprint,
        "provenance": dict(dataset.provenance),
    }


def surroundings() -> dict[str, Any]:
    """Return versions and machine as JSON values; they are not part of a key."""
    return {
        "versions": {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}},
        "machine": {
            "system": platform.platform(),
            "processor": platform.processor() or platform.machine(),
            "cores": psutil.cpu_count(logical=False) or 1,
            "memory": psutil.virtual_memory().total,
        },
    }


def checksum(path: Path) -> str:
    """Return the SHA-256 digest of a network's file; raises MissingDataError if missing."""
    require_file(path, "network file", "a file of weights")
    return content_digest(path)


def _too_many(where: str, sizes: tuple[int, ...], dataset: Dataset, limit: int | None) -> Iterator[DataError]:
    there = len(dataset.train)
    if sizes and max(sizes) > there:
        kept = "" if limit is None else f", with limit = {limit},"
        yield DataError(
            f"{where} asks for {max(sizes)} examples and {dataset.name}{kept} has {there} training examples; "
            f"ask for {there} or fewer"
        )


def _class_counts(examples: LabelledSet) -> list[int] | None:
    return None if examples.classes is None else [int(count) for count in examples.class_counts()]
