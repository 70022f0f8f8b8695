"""The subject of diagnostics, from files: a trained network, its initial weights, and data."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import torch

from transferscope.data.splits import few_shot
from transferscope.data.task import Dataset
from transferscope.diagnostics import Diagnostic, Examples, Findings, Landscape, Subject
from transferscope.diagnostics.features import submodule
from transferscope.diagnostics.grid import Progress
from transferscope.diagnostics.network_state import evaluation_mode
from transferscope.errors import DataError, NetworkError
from transferscope.models import (
    Network,
    NetworkSettings,
    Pretrained,
    TwoLayerHead,
    build_network,
    input_of,
    open_network,
    open_pretrained,
    reinitialise,
)
from transferscope.models.neighbours import NeighbourHead
from transferscope.models.pretrained import check_code
from transferscope.models.weights import read_notes
from transferscope.records import Record, check_settings
from transferscope.settings.data import DataSettings
from transferscope.settings.questions import DiagnoseQuestion
from transferscope.study.facts import examples_as_read
from transferscope.study.fitting import spread_examples
from transferscope.study.read_alike import in_columns_of, in_features_of, load_for
from transferscope.training import (
    PixelScale,
    TensorSet,
    exact_device,
    measure,
    pixel_scale,
    scale_of,
    stream_seed,
    to_tensors,
)

ScaleFrom = Literal["own", "file", "network", "given"]

Lack = Literal["start", "source", "passes"]
"""Reason why a diagnostic is not measured: no start, no source data, or many passes through a network of another
package without a request by name."""


@dataclass(frozen=True)
class FileQuestion(DiagnoseQuestion):
    """The files to diagnose, and the settings.

    Attributes:
        checkpoint: Weights of the trained network: a safetensors file, or a state dict written by `torch.save`.
        network: The architecture that the weights belong to.
        against: Initial weights of the training; None for none. Of a file with another head, only the backbone is used.
        source: Source data, for diagnostics that compare two tasks; None for none.
    """

    checkpoint: Path
    data: DataSettings
    network: NetworkSettings = field(default_factory=NetworkSettings)
    against: Path | None = None
    source: DataSettings | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        _ = self.given_scale  # what cannot be read is refused

    @property
    def given_scale(self) -> PixelScale | None:
        """The scaling given in numbers; None for one from data, file or network."""
        return None if self.scaling in (None, "own") else PixelScale.from_text(str(self.scaling))


@dataclass(frozen=True)
class FileSubject:
    """The content of the files, ready for measurement.

    Attributes:
        performance: Loss and accuracy (for regression, their counterparts) of the network on the examples.
        backbone_only: Whether the initial weights have another head, so that only backbones can be compared; the start
            then gets the head of the network.
        scale_from: Origin of the input scaling: "own" (the training examples), "file", "network" (its input) or
            "given".
        train: Training examples, at most as many as requested.
        test: Held-out examples, at most as many as requested.
        names: Display names of the network ("end") and its start ("start").
        random: The network with random weights, several draws; one for (slow) networks of another package, none if
            weights cannot be drawn.
    """

    subject: Subject
    performance: tuple[Record, ...]
    backbone_only: bool
    scale: PixelScale
    scale_from: ScaleFrom
    train: TensorSet
    test: TensorSet
    names: Mapping[str, str]
    random: tuple[Network, ...] = ()

    @property
    def beside(self) -> Literal["start", "random"]:
        """The network to compare with: the initial weights, or random weights if none were given."""
        return "random" if self.subject.start is None else "start"

    def lacks(self, diagnostic: Diagnostic) -> Lack | None:
        """Return what a diagnostic lacks to measure this subject; None if nothing."""
        if diagnostic.needs_start and self.subject.start is None:
            return "start"
        if diagnostic.needs_source and self.subject.source is None:
            return "source"
        return None

    def measure(
        self, diagnostic: Diagnostic, *, file: Path | None = None, progress: Progress | None = None
    ) -> Findings:
        """Measure a diagnostic; if only backbones are compared, without findings about heads.

        Args:
            file: File (.npz) from which an interrupted landscape is resumed.
            progress: Called with (done, total) by diagnostics that report progress.
        """
        if isinstance(diagnostic, Landscape):
            losses = diagnostic.losses(self.subject, file=file, progress=progress)
            return diagnostic.findings(losses, self.subject)
        findings = diagnostic.measure(self.subject)
        if not self.backbone_only:
            return findings
        of_heads = ("weight_deviation/head", "weight_deviation_relative/head")
        return replace(findings, records=tuple(r for r in findings.records if not r.name.startswith(of_heads)))

    def measure_beside(self, diagnostic: Diagnostic) -> Findings | None:
        """Measure a diagnostic on the network as training began, or with random weights; see `beside`.

        Returns:
            The findings at step 0; None without another network, for diagnostics that compare with it themselves or use
            no network, or if the other has no head of its own and the diagnostic needs one.
        """
        other, looks_at = self.subject.start, diagnostic.looks_at
        own_head = other is not None and not self.backbone_only
        if other is None:
            other = next(iter(self.random), None)
        if other is None or diagnostic.needs_start or looks_at == "data":
            return None
        if not own_head and looks_at != "features":
            return None
        return diagnostic.measure(replace(self.subject, network=other, start=None, step=0))


def subject_of(question: FileQuestion) -> FileSubject:
    """Read the files of a question."""
    device = exact_device(question.device)
    data = _data(question)
    network = _trained(question, data, device)
    submodule(network, question.head)
    against = question.against
    start, backbone_only = (None, False) if against is None else _start(question, data, network, against)
    return looked_at_in(
        question,
        data,
        network,
        start,
        scale=_scale(question, data, network),
        names={"end": question.checkpoint.name, "start": "" if against is None else against.name},
        source=_source(question, data, network, device),
        backbone_only=backbone_only,
    )


def looked_at_in(
    question: FileQuestion,
    data: Dataset,
    network: Network,
    start: Network | None,
    *,
    scale: tuple[PixelScale, ScaleFrom],
    names: Mapping[str, str],
    source: Examples | None,
    backbone_only: bool,
) -> FileSubject:
    """Return a network and its start, ready to be measured on data.

    Args:
        data: The data, with the training examples of the network.
        names: Display names of the network ("end") and its start.
    """
    device, (by, scale_from) = next(network.parameters()).device, scale
    subject = Subject(
        network,
        spread_examples(
            data.train if question.part == "target_train" else data.test,
            scale=by,
            at_most=question.examples,
            device=device,
        ),
        start=start,
        source=source,
        head=question.head,
        n_train=len(data.train),
        part=question.part,
    )
    return FileSubject(
        subject,
        _performance(subject, question.checkpoint),
        backbone_only,
        by,
        scale_from,
        to_tensors(data.train, by, device).spread(question.examples),
        to_tensors(data.test, by, device).spread(question.examples),
        names,
        _random(question, network),
    )


DRAWS = 3
"""Draws of random weights for comparison, except for networks of other packages."""


def _random(question: FileQuestion, network: Network) -> tuple[Network, ...]:
    n_draws = 1 if question.network.module is not None else DRAWS
    try:
        return tuple(
            reinitialise(network, seed=stream_seed(question.seed, f"random weights {i}")) for i in range(n_draws)
        )
    except NetworkError:
        return ()


def _data(question: FileQuestion) -> Dataset:
    data = _load(question, question.data)
    if question.labels is None:
        return data
    subset = few_shot(data.train, question.labels, seed=stream_seed(question.seed, "subset"))
    return replace(data, train=subset)


def _load(question: FileQuestion, data: DataSettings) -> Dataset:
    dataset = load_for(data, [Pretrained(question.network, question.checkpoint)])
    known = input_of(question.network)
    train, test = (examples_as_read(part, known, dataset.name) for part in (dataset.train, dataset.test))
    return replace(dataset, train=train, test=test)


def _source(question: FileQuestion, target: Dataset, network: Network, device: torch.device) -> Examples | None:
    if question.source is None:
        return None
    target_name = in_columns_of(question.data.data, [question.checkpoint])
    name = in_features_of(question.source.data, target_name)
    source = _load(question, replace(question.source, data=name))
    if source.train.input_shape != target.train.input_shape:
        raise DataError(
            f"source inputs have shape {source.train.input_shape} but target inputs {target.train.input_shape}; add "
            "transforms such as resize:28"
        )
    given = question.given_scale  # else as a study does, whose files know the scale of the target alone
    scale = scale_of(network, source.train) if given is None else given.fitted_to(source.train)
    return spread_examples(source.train, scale=scale, at_most=question.examples, device=device)


def _scale(question: FileQuestion, data: Dataset, network: Network) -> tuple[PixelScale, ScaleFrom]:
    given = question.given_scale
    if given is not None:
        return given.fitted_to(data.train), "given"
    noted = None if question.scaling == "own" else PixelScale.from_notes(read_notes(question.checkpoint))
    if noted is not None:
        return noted.fitted_to(data.train), "file"
    if question.scaling is None and network.input is not None and network.input.is_scaled:
        return scale_of(network, data.train), "network"
    return pixel_scale(data.train), "own"


def _trained(question: FileQuestion, data: Dataset, device: torch.device) -> Network:
    path, shape, n_outputs = question.checkpoint, data.train.input_shape, data.train.n_outputs
    if question.network.module is not None:
        opened = open_pretrained(Pretrained(question.network, path), shape, head="either")
        if opened.report.n_outputs == 0:
            raise NetworkError(f"{path} has no linear head of {question.network.name}; give the network with its head")
        network = opened.network.to(device)
    else:
        check_code(question.network, path)
        frame = build_network(question.network, shape, n_outputs, seed=0).to(device)
        network = open_network(frame, path, read_as=question.network.read_as(shape)).network
    head = network.head
    if isinstance(head, NeighbourHead):
        raise NetworkError(
            f"the head of {path} is nearest neighbours, which diagnostics do not support; give a network with a "
            "trained head"
        )
    width = head.out_features if isinstance(head, TwoLayerHead) else len(head.get_parameter("weight"))
    if width != n_outputs:
        kind = {"regression": "regression target", "multi-label": "label", "classification": "class"}[data.train.kind]
        plural = "" if n_outputs == 1 else "es" if kind == "class" else "s"
        raise DataError(
            f"the head of {path} has {width} outputs, but {data.name} has {n_outputs} {kind}{plural}; give the data "
            "it was trained on"
        )
    return network


def _start(question: FileQuestion, data: Dataset, network: Network, path: Path) -> tuple[Network, bool]:
    """Return the network of a file; if the heads differ, its backbone with the head of `network`."""
    if question.network.module is not None:
        opened = open_pretrained(Pretrained(question.network, path), data.train.input_shape, head="either")
        device = next(network.parameters()).device
        opened = replace(opened, network=opened.network.to(device))
    else:
        check_code(question.network, path)
        opened = open_network(network, path, head="either")
    if opened.report.n_outputs and _head_shapes(opened.network) == _head_shapes(network):
        return opened.network, False
    return opened.network.with_head(network.copy().head), True


def _head_shapes(network: Network) -> dict[str, tuple[int, ...]]:
    return {name: tuple(weight.shape) for name, weight in network.head.named_parameters() if name != "bias"}


def _performance(subject: Subject, path: Path) -> tuple[Record, ...]:
    with evaluation_mode(subject.network), torch.no_grad():
        outputs = torch.cat([subject.network(batch.inputs) for batch in subject.examples.batches(512)])
    records = measure(outputs, subject.examples.labels, part=subject.part).records
    if any(record.estimate.status == "non_finite" for record in records):
        raise NetworkError(
            f"the loss of {path} on {subject.part} is not finite; scale the data as in its training, or give scaling"
        )
    return records
