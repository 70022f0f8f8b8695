"""A trained network in a folder: `transferscope export` writes it, `load_model` opens it and it predicts."""

import json
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np
from jaxtyping import Float, Num, Shaped
from pydantic import TypeAdapter, ValidationError
from scipy.special import expit

from transferscope.data.arrays import to_inputs
from transferscope.data.task import Kind, LabelledSet
from transferscope.data.unlabelled import InputForm, as_in_study
from transferscope.errors import CorruptDataError, DataError, MissingDataError, StoreError
from transferscope.files import written_whole
from transferscope.models import Network, NetworkSettings
from transferscope.models.build import frame_network
from transferscope.models.weights import open_network, read_notes, save_weights
from transferscope.training import PixelScale, outputs_of, to_tensors

WEIGHTS, CARD = "model.safetensors", "card.json"
_NOTE = "transferscope.card"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What a trained network is and where it comes from; with the weights it rebuilds the network.

    Attributes:
        network: The architecture.
        n_outputs: Number of classes, labels or numbers that it predicts.
        classes: Names of the classes or labels in the order of the outputs; None for numbers.
        inputs: How the inputs of its training came about.
        study: Name of the study.
        cell: Key of the run.
        method: The method's name in the study.
        source: What was transferred; None for nothing.
        n_labels: Labelled target examples that it was trained on.
        seed: The seed of the run.
        metric: What `score` is: "accuracy", "average_precision" or "r2".
        score: On the study's test examples.
        stderr: Its standard error over test examples; None where there is none.
        mean_score: The mean of all runs of this method with as many labels, which other examples are expected near.
        n_runs: Their number.
        versions: Of transferscope and torch.
        multi_label: Whether each input has any number of the labels `classes`, rather than one class.
        label_units: (offset, unit) of each predicted number, in which the study counted them; empty for as they are.
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
    versions: dict[str, str] = field(
        default_factory=lambda: {name: version(name) for name in ("transferscope", "torch")}
    )
    multi_label: bool = False
    label_units: tuple[tuple[float, float], ...] = ()

    @property
    def kind(self) -> Kind:
        """What it predicts."""
        if self.classes is None:
            return "regression"
        return "multi-label" if self.multi_label else "classification"


_ADAPTER = TypeAdapter(ModelCard)


@dataclass(frozen=True)
class TrainedModel:
    """A trained network that predicts.

    Attributes:
        network: The network, in evaluation mode.
        scale: How inputs are standardised for it.
        card: What it is and where it comes from.
    """

    network: Network
    scale: PixelScale
    card: ModelCard

    def outputs(self, inputs: Shaped[np.ndarray, "N ..."]) -> Float[np.ndarray, "N K"]:
        """Logits of the classes or labels, or the predicted numbers.

        Args:
            inputs: As the data of the study hold them, before its transformations: images (N, H, W), (N, H, W, C) or
                (N, C, H, W), whole numbers in 0..255 or floating point in [0, 1]; or vectors (N, D).

        Raises:
            DataError: They are of another shape or range than those that it was trained on.
        """
        raw = to_inputs(np.asarray(inputs), name="the inputs")
        return self.outputs_of_read(as_in_study(raw, self.card.inputs, name="the inputs"))

    def outputs_of_read(self, inputs: Num[np.ndarray, "N ..."]) -> Float[np.ndarray, "N K"]:
        """The same of inputs that `read_unlabelled` brought into the form of the study."""
        shape = (len(inputs),) if self.card.kind == "classification" else (len(inputs), self.card.n_outputs)
        types: dict[Kind, type[np.generic]] = {
            "classification": np.int64,
            "regression": np.float32,
            "multi-label": np.bool_,
        }
        labels = np.zeros(shape, dtype=types[self.card.kind])
        device = next(self.network.parameters()).device
        tensors = to_tensors(LabelledSet(inputs, labels, self.card.classes), self.scale, device)
        outputs: np.ndarray = outputs_of(self.network, tensors).cpu().numpy()
        if not self.card.label_units:
            return outputs
        offset, unit = np.transpose(self.card.label_units)
        return np.asarray(offset + unit * outputs.astype(np.float64))

    def predict(self, inputs: Shaped[np.ndarray, "N ..."]) -> Shaped[np.ndarray, "N ..."]:
        """The name of the most probable class of each input, shape (N,); or the predicted numbers (N, n_outputs).

        Of several labels, whether each input has each of `card.classes`, shape (N, n_outputs): those with a probability
        above one half.

        Args:
            inputs: See `outputs`.

        Raises:
            DataError: See `outputs`.
        """
        outputs = self.outputs(inputs)
        if self.card.classes is None:
            return outputs
        return outputs > 0 if self.card.multi_label else np.array(self.card.classes)[outputs.argmax(axis=1)]

    def predict_proba(self, inputs: Shaped[np.ndarray, "N ..."]) -> Float[np.ndarray, "N C"]:
        """The network's probabilities of the classes or labels, in the order of `card.classes`; not calibrated.

        Those of classes sum to 1; each label has one of its own.

        Args:
            inputs: See `outputs`.

        Raises:
            DataError: See `outputs`; or the network predicts numbers.
        """
        if self.card.classes is None:
            raise DataError("probabilities were asked of a network that predicts numbers; use predict")
        return probabilities(self.outputs(inputs), self.card.kind)


def probabilities(outputs: Float[np.ndarray, "N C"], kind: Kind) -> Float[np.ndarray, "N C"]:
    """The softmax of the logits of classes, or the sigmoid of each label's, in float64."""
    if kind == "multi-label":
        return np.asarray(expit(outputs.astype(np.float64)))
    shifted = np.exp(outputs.astype(np.float64) - outputs.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def save_model(model: TrainedModel, folder: Path) -> None:
    """Write a trained network to a folder: `model.safetensors`, whose metadata rebuild it, and `card.json` to read.

    Args:
        model: The network.
        folder: Made if it is not there; what was exported to it before is replaced.

    Raises:
        StoreError: It holds something else than an export.
    """
    there = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if there - {WEIGHTS, CARD} or (folder.exists() and not folder.is_dir()):
        raise StoreError(f"{folder} holds other things than an exported network; give a new or empty folder")
    folder.mkdir(parents=True, exist_ok=True)
    card = {"format": _FORMAT, **_ADAPTER.dump_python(model.card, mode="json")}
    save_weights(model.network, folder / WEIGHTS, notes={**model.scale.as_notes, _NOTE: json.dumps(card)})
    with written_whole(folder / CARD) as unfinished:
        unfinished.write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def load_model(place: str | Path) -> TrainedModel:
    """Open a network that `transferscope export` wrote.

    Args:
        place: Its folder, or the file `model.safetensors` in it, which is enough.

    Raises:
        MissingDataError: There is no such file.
        CorruptDataError: It was not written by `transferscope export`, or by a later version, or is damaged.
        TransferscopeError: The network cannot be built, as when code of another package that it needs is missing.
    """
    file = Path(place) / WEIGHTS if Path(place).is_dir() else Path(place)
    if not file.is_file():
        raise MissingDataError(
            f"there is no exported network {file}; `transferscope export STUDY --out FOLDER` makes one"
        )
    notes = read_notes(file)
    scale = PixelScale.from_notes(notes)
    try:
        card = json.loads(notes[_NOTE])
        known = card.pop("format") == _FORMAT
        read = _ADAPTER.validate_python(card) if known else None
    except (KeyError, ValueError, TypeError, AttributeError, ValidationError) as error:
        raise CorruptDataError(
            f"{file} does not say which network it is, so it was not written by `transferscope export` or is damaged"
        ) from error
    if read is None:
        raise CorruptDataError(
            f"{file} is of another format and this version of transferscope reads format {_FORMAT}; use the version "
            "that wrote it"
        )
    if scale is None:
        raise CorruptDataError(f"{file} does not say how its inputs are scaled; export the network again")
    frame = frame_network(read.network, read.inputs.input_shape, read.n_outputs)
    network = open_network(frame, file).network
    return TrainedModel(network.eval(), scale, read)
