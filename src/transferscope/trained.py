"""Exported networks: `transferscope export` writes a folder, `load_model` opens it for predictions."""

import hashlib
import json
import logging
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import numpy as np
from jaxtyping import Float, Num, Shaped
from pydantic import TypeAdapter, ValidationError
from scipy.special import expit, softmax

from transferscope.arguments import checks_arguments
from transferscope.consent import reads_code
from transferscope.data.arrays import to_inputs
from transferscope.data.input_form import NETWORK_NOTE, InputForm
from transferscope.data.memory import as_array, write_inputs
from transferscope.data.task import Kind, LabelledSet
from transferscope.data.unlabelled import as_in_study, far_from_training, read_unlabelled
from transferscope.errors import CorruptDataError, DataError, StoreError, TransferscopeError, missing_file
from transferscope.models import Network, NetworkSettings, input_of
from transferscope.models.build import frame_network
from transferscope.models.hubs.huggingface import HuggingFace
from transferscope.models.hubs.save_pretrained import FILES, Problem, SavedModel, open_saved, save_pretrained
from transferscope.models.network import SCALE_NOTE
from transferscope.models.pretrained import notes_of
from transferscope.models.weights import open_network, read_notes, save_weights
from transferscope.registry import planned_code
from transferscope.training import PixelScale, TensorSet, outputs_of, to_tensors

Inputs = Any
"""Arrays, a data frame or texts."""

WEIGHTS, CARD = "model.safetensors", "card.json"
CARD_DIGEST = "transferscope.card.sha256"
_PROBLEMS: dict[Kind, Problem] = {
    "classification": "single_label_classification",
    "regression": "regression",
    "multi-label": "multi_label_classification",
}
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class ModelCard:
    """The description and origin of a trained network; with the weights it suffices to rebuild the network.

    Attributes:
        n_outputs: Number of classes, labels or numbers that it predicts.
        classes: Names of the classes or labels in the order of the outputs; None for numbers.
        source: Name of the source; None for a baseline.
        n_labels: Number of labelled target examples.
        metric: Metric of `score`, one of `HEADLINES`.
        score: Score on the study's test examples.
        stderr: Its standard error over test examples; None if there is none.
        mean_score: Mean of all runs of this method with the same number of labels, the expected score on other
            examples.
        n_runs: Number of these runs.
        transformers: Settings for reading the folder of a transformers network; None for others, and for networks that
            a study keeps.
        versions: Versions of transferscope and torch.
        multi_label: Whether each input has any number of the labels `classes`, rather than one class.
        label_units: (offset, unit) of each predicted number in the study; empty if unscaled.
        temperature: Temperature of the probabilities, fitted to the study's test examples (see `numerics.calibration`);
            predictions do not depend on it. 1 for numbers.
        code: Digest of the code of a user's network by name, for `planned_code`; empty for other networks.
    """

    network: NetworkSettings
    n_outputs: int
    classes: tuple[str, ...] | None
    inputs: InputForm
    study: str
    cell: str
    method: str
    source: str | None
    n_labels: int
    seed: int
    metric: str
    score: float
    stderr: float | None
    mean_score: float
    n_runs: int
    transformers: SavedModel | None = None
    versions: dict[str, str] = field(
        default_factory=lambda: {name: version(name) for name in ("transferscope", "torch")}
    )
    multi_label: bool = False
    label_units: tuple[tuple[float, float], ...] = ()
    temperature: float = 1.0
    code: dict[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> Kind:
        """The kind of its predictions."""
        if self.classes is None:
            return "regression"
        return "multi-label" if self.multi_label else "classification"


_ADAPTER = TypeAdapter(ModelCard)
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, repr=False)
class TrainedModel:
    """A trained network, in evaluation mode, that predicts; `scale` standardises its inputs."""

    network: Network
    scale: PixelScale
    card: ModelCard

    def __repr__(self) -> str:
        card = self.card
        arm = f"{card.method} from {card.source}" if card.source else card.method
        return f"TrainedModel({arm}, {card.n_labels} labels, seed {card.seed}: {card.metric} {card.score:.4g})"

    def outputs(self, inputs: Inputs) -> Float[np.ndarray, "N K"]:
        """Return logits of the classes or labels, or the predicted numbers.

        Args:
            inputs: Inputs like the study's data before its transformations: images (N, H, W), (N, H, W, C) or
                (N, C, H, W), whole numbers in 0..255 or floating point in [0, 1]; or vectors (N, D); or a data frame
                with the columns of the study's table, in any order; or a list of texts.

        Raises:
            DataError: Their shape or range differs from that of the training data.
        """
        return self.outputs_of_read(self._read(inputs))

    def _read(self, inputs: Inputs) -> Num[np.ndarray, "N ..."]:
        with TemporaryDirectory() as folder:
            if name := write_inputs(inputs, Path(folder)):
                unlabelled = read_unlabelled(name, self.card.inputs)
                for remark in unlabelled.remarks:
                    _LOG.warning("%s", remark)
                return unlabelled.inputs
        read = as_in_study(
            to_inputs(as_array(inputs, "the inputs"), name="the inputs"), self.card.inputs, name="the inputs"
        )
        for remark in (*far_from_training(read, self.card.inputs), *self.scale.remarks(read)):
            _LOG.warning("%s", remark)
        return read

    def outputs_of_read(self, inputs: Num[np.ndarray, "N ..."]) -> Float[np.ndarray, "N K"]:
        """Return `outputs` for inputs that `read_unlabelled` converted to the form of the study."""
        outputs: np.ndarray = outputs_of(self.network, self._tensors(inputs)).cpu().numpy()
        if not self.card.label_units:
            return outputs
        offset, unit = np.transpose(self.card.label_units)
        return np.asarray(offset + unit * outputs.astype(np.float64))

    def features(self, inputs: Inputs) -> Float[np.ndarray, "N m ..."]:
        """Return the features, for another head, for neighbours, or for clustering. Inputs and errors as for `outputs`.

        Returns:
            Features, shape (N, m); maps (N, m, h, w) of a network whose labels lie on a grid.
        """
        read = self._read(inputs)
        features: np.ndarray = outputs_of(self.network.features, self._tensors(read)).cpu().numpy()
        return features

    def predict(self, inputs: Inputs) -> Shaped[np.ndarray, "N ..."]:
        """Return the name of the most probable class of each input, shape (N,), or the predicted numbers (N,
        n_outputs).

        For several labels, whether each input has each of `card.classes`, shape (N, n_outputs): probability above one
        half. Inputs and errors as in `outputs`.
        """
        outputs = self.outputs(inputs)
        if self.card.classes is None:
            return outputs
        return outputs > 0 if self.card.multi_label else np.array(self.card.classes)[outputs.argmax(axis=1)]

    def predict_proba(self, inputs: Inputs) -> Float[np.ndarray, "N C"]:
        """Return the network's probabilities of the classes or labels, in the order of `card.classes`.

        Probabilities of classes sum to 1; each of several labels has its own. They are calibrated by temperature
        scaling, `card.temperature`, on the study's test examples.

        Inputs are as in `outputs`.

        Raises:
            DataError: See `outputs`; or the network predicts numbers.
        """
        if self.card.classes is None:
            raise DataError("the network predicts numbers and has no probabilities; use predict")
        return probabilities(self.outputs(inputs), self.card)

    def _tensors(self, inputs: Num[np.ndarray, "N ..."]) -> TensorSet:
        """Return inputs in the form of the study for the network, with dummy labels."""
        shape = (len(inputs),) if self.card.kind == "classification" else (len(inputs), self.card.n_outputs)
        types: dict[Kind, type[np.generic]] = {
            "classification": np.int64,
            "regression": np.float32,
            "multi-label": np.bool_,
        }
        labels = np.zeros(shape, dtype=types[self.card.kind])
        device = next(self.network.parameters()).device
        return to_tensors(LabelledSet(inputs, labels, self.card.classes), self.scale, device)


def probabilities(outputs: Float[np.ndarray, "N C"], card: ModelCard) -> Float[np.ndarray, "N C"]:
    """Return the softmax of class logits, or the sigmoid of each label's, at the card's temperature, in float64."""
    scaled = outputs.astype(np.float64) / card.temperature
    return np.asarray(expit(scaled) if card.kind == "multi-label" else softmax(scaled, axis=1))


def card_notes(card: ModelCard, scale: PixelScale) -> dict[str, str]:
    """Return card and scale as metadata of a file of weights, for `load_model`."""
    notes = {**scale.as_notes, NETWORK_NOTE: json.dumps(_as_json(card))}
    return {**notes, CARD_DIGEST: card_digest(notes)}


def card_digest(notes: Mapping[str, str]) -> str:
    """Return a digest of the card and the scale in the metadata of a file."""
    return hashlib.sha256("\n".join(notes.get(name, "") for name in (NETWORK_NOTE, SCALE_NOTE)).encode()).hexdigest()


def _as_json(card: ModelCard) -> dict[str, Any]:
    return {"format": _FORMAT, **_ADAPTER.dump_python(card, mode="json")}


def save_model(model: TrainedModel, folder: Path) -> None:
    """Write a trained network to a folder: `model.safetensors`, which suffices to rebuild it, and `card.json`.

    A network of transformers is written as its own `save_pretrained` does, so that `from_pretrained` reads the folder.

    Args:
        model: The network, on the CPU.
        folder: Output folder, created if missing; an earlier export is replaced.

    Raises:
        StoreError: The folder has other content than an export.
        NetworkError: transformers cannot write the network.
    """
    there = sorted(folder.iterdir()) if folder.is_dir() else []
    own = [pattern.partition("/")[0] for pattern in (WEIGHTS, CARD, *FILES)]
    if (folder.exists() and not folder.is_dir()) or not all(
        any(fnmatch(path.name, pattern) for pattern in own) for path in there
    ):
        raise StoreError(f"{folder} contains files other than an exported network; give a new or empty folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent, prefix=".export-") as name:
        unfinished = Path(name) / "export"
        unfinished.mkdir()
        card, named = model.card, model.card.network.module
        if isinstance(named, HuggingFace):
            card = _save_pretrained(named, model, unfinished)
        else:
            notes = {**card_notes(card, model.scale), **notes_of(card.network)}
            save_weights(model.network, unfinished / WEIGHTS, notes=notes)
        (unfinished / CARD).write_text(
            json.dumps(_as_json(card), indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        folder.mkdir(exist_ok=True)
        for path in there:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for path in unfinished.iterdir():
            path.replace(folder / path.name)


def _save_pretrained(named: HuggingFace, model: TrainedModel, folder: Path) -> ModelCard:
    def as_saved(saved: SavedModel) -> ModelCard:
        known = input_of(model.card.network)  # as it is now: it does not depend on the folder that it comes from
        return replace(model.card, network=replace(model.card.network, input=known), transformers=saved)

    saved = save_pretrained(
        named,
        model.network,
        folder,
        input_shape=model.card.inputs.input_shape,
        n_outputs=model.card.n_outputs,
        classes=model.card.classes,
        problem=_PROBLEMS[model.card.kind],
        notes=lambda saved: card_notes(as_saved(saved), model.scale),
    )
    return as_saved(saved)


@checks_arguments
@reads_code
def load_model(place: str | Path, *, trust_code: bool = False) -> TrainedModel:
    """Open a network written by `transferscope export`.

    Args:
        place: Its folder, or its file `model.safetensors`, which suffices.
        trust_code: Whether to import and call the code of the network, a function of a package or file that the file
            names.

    Raises:
        MissingDataError: There is no such file.
        CorruptDataError: It was not written by `transferscope export`, or by a later version, is damaged, or its card
        or the user's network code has changed.
        UntrustedCodeError: The network needs user code that is not trusted.
        MissingExtraError: It is a transformers network, and transformers is not installed.
        TransferscopeError: The network cannot be built, for example because a package is missing.
    """
    file = Path(place) / WEIGHTS if Path(place).is_dir() else Path(place)
    if not file.is_file():
        raise missing_file("exported network", file, "make one with `transferscope export STUDY --out FOLDER`")
    notes = read_notes(file)
    no_export = CorruptDataError(
        f"{file} does not say which network it is, so it was not written by `transferscope export` or is damaged"
    )
    if NETWORK_NOTE not in notes:
        raise no_export
    if notes.get(CARD_DIGEST) != card_digest(notes):
        raise CorruptDataError(f"{file} does not match its checksum; export the network again")
    try:
        card, scale = json.loads(notes[NETWORK_NOTE]), PixelScale.from_notes(notes)
        is_known, code = card.pop("format") == _FORMAT, dict(card["code"])
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:  # the digest is no signature
        raise no_export from error
    if not is_known:
        raise CorruptDataError(f"{file} has another format than {_FORMAT}; use the version that wrote it")
    if scale is None:
        raise no_export
    with planned_code(code, since=f"{file} was written", remedy="run its study and export it again"):
        try:
            read = _ADAPTER.validate_python(card)
        except ValidationError as error:  # of a network that cannot be had here
            causes = [item.get("ctx", {}).get("error") for item in error.errors()]
            raise next((one for one in causes if isinstance(one, TransferscopeError)), no_export) from error
        shape = read.inputs.input_shape
        if read.transformers is not None:
            network = open_saved(file.parent, read.transformers, input_shape=shape, known=read.network.input)
            read = replace(read, inputs=_own_tokenizer(read.inputs, file.parent))
        else:
            network = open_network(frame_network(read.network, shape, 1), file).network  # under the head of the file
    if (rows := getattr(network.head, "out_features", read.n_outputs)) != read.n_outputs:
        raise CorruptDataError(
            f"{file} predicts {read.n_outputs} outputs, but its head has {rows}; export the network again"
        )
    return TrainedModel(network.eval(), scale, read)


def _own_tokenizer(inputs: InputForm, folder: Path) -> InputForm:
    """Return the input form with the tokenizer that was exported with the network."""
    if not (folder / "tokenizer.json").is_file():
        return inputs
    own = f"tokenizer={quote(str(folder.absolute()), safe='/: ')}"
    return replace(inputs, data=re.sub(r"tokenizer=[^&]*", lambda _: own, inputs.data))
