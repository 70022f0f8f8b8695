"""Folders of sentence-transformers: the pooling of tokens and the layers after it."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from transferscope.errors import NetworkError
from transferscope.models.fields import check_fields, read_fields, read_json
from transferscope.models.texts import ACTIVATIONS, Dense, Normalize, Pooling
from transferscope.models.weights import check_weights

MODULES, WEIGHTS = "modules.json", "model.safetensors"

_MODES: dict[str, tuple[str, Pooling]] = {  # what newer files and older ones call them, in the order of older ones
    "cls": ("pooling_mode_cls_token", "first"),
    "max": ("pooling_mode_max_tokens", "max"),
    "mean": ("pooling_mode_mean_tokens", "mean"),
    "mean_sqrt_len_tokens": ("pooling_mode_mean_sqrt_len_tokens", "mean-root"),
    "weightedmean": ("pooling_mode_weightedmean_tokens", "weighted"),
    "lasttoken": ("pooling_mode_lasttoken", "last"),
}
_PLACE = re.compile(r"\d+_\w+")
_PACKAGE = "sentence_transformers."


@dataclass(frozen=True)
class SentenceFolder:
    """The layers after the encoder in a folder of sentence-transformers.

    Final layers that normalise rows to length 1 are left out. They serve comparisons by cosine; with a linear head they
    remove the radial part of the gradient, and a random head learns ten times slower.

    Attributes:
        pooling: Pooling modes of the tokens of a text; rows of several modes are concatenated.
        after: Folders and settings of the layers after it; no settings for one that normalises.
        left_out: Folders of the layers that are left out.
    """

    pooling: tuple[Pooling, ...]
    after: tuple[tuple[str, dict[str, Any] | None], ...]
    left_out: tuple[str, ...] = ()

    def made(self) -> nn.Sequential | None:
        """Return the layers after the pooling with random weights; None if there are none."""
        layers: list[nn.Module] = []
        for _, settings in self.after:
            if settings is None:
                layers.append(Normalize())
                continue
            activation = str(settings.get("activation_function", "Tanh")).rpartition(".")[2]
            sizes, bias = (settings["in_features"], settings["out_features"]), bool(settings.get("bias", True))
            layers.append(Dense(*sizes, bias, activation))
        return nn.Sequential(*layers) if layers else None

    def load(self, layers: nn.Sequential, folder: Path) -> None:
        """Load the weights of the layers.

        Raises:
            NetworkError: They are missing in safetensors, or have other names or shapes.
            CorruptDataError: They are not dense floating-point numbers.
        """
        for layer, (place, settings) in zip(layers, self.after, strict=True):
            if settings is not None:
                file = folder / place / WEIGHTS
                try:
                    stored = load_file(file)
                    check_weights(stored, layer.state_dict(), file)
                    layer.load_state_dict(stored)
                except (SafetensorError, OSError, RuntimeError) as error:
                    raise NetworkError(
                        f"{file} lacks linear.weight and linear.bias of the sizes in config.json; save the model "
                        "again as safetensors"
                    ) from error


def read_sentence_folder(folder: Path) -> SentenceFolder | None:
    """Read the layers after the encoder of a folder of sentence-transformers; None for a folder of another kind.

    Args:
        folder: With `modules.json`, or with `1_Pooling/config.json` alone.

    Raises:
        NetworkError: A module is not one of Transformer, Pooling, Dense, Normalize and Dropout, in this order; or a
        setting is not supported.
    """
    path = folder / MODULES
    if not path.is_file():
        pooling = folder / "1_Pooling" / "config.json"
        return SentenceFolder(_pooling(pooling), ()) if pooling.is_file() else None
    modules = read_json(path)
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise NetworkError(f"{path} is not a list of modules; download the folder again")
    kinds: list[str] = []
    places: list[str] = []
    for module in modules:
        check_fields(path, module)
        kind, place = str(module.get("type")), module.get("path")
        is_first = not kinds
        kinds.append(kind.rpartition(".")[2] if kind.startswith(_PACKAGE) else kind)
        if not (place == "" if is_first else isinstance(place, str) and _PLACE.fullmatch(place)):
            raise NetworkError(
                f"{path} has the module {kinds[-1]} in {place!r}; expected the encoder in the folder itself, and "
                "others in sub-folders such as 1_Pooling"
            )
        places.append(str(place))
    if kinds[:2] != ["Transformer", "Pooling"] or not {*kinds[2:]} <= {"Dense", "Normalize", "Dropout"}:
        raise NetworkError(
            f"{path} has the modules {', '.join(kinds)}; expected Transformer, Pooling and then any of Dense, "
            "Normalize and Dropout: give such a folder, or the encoder alone (without modules.json)"
        )
    after: list[tuple[str, dict[str, Any] | None]] = []
    for kind, place in zip(kinds[2:], places[2:], strict=True):
        file = folder / place / "config.json"
        settings = read_fields(file) if kind == "Dense" or file.is_file() else {}
        if kind == "Normalize":
            after.append((place, None))
        elif kind == "Dense":
            _check_dense(settings, file)
            after.append((place, settings))
    file = folder / places[1] / "config.json"
    prompts = folder / "config_sentence_transformers.json"
    prompt = read_json(prompts).get("default_prompt_name") if prompts.is_file() else None
    if prompt is not None and not read_fields(file).get("include_prompt", True):
        raise NetworkError(
            f"{file} excludes the prompt from pooling (include_prompt), but {prompts.name} has a default prompt; give "
            "a model without one"
        )
    left_out: list[str] = []
    while after and after[-1][1] is None:
        left_out.append(after.pop()[0])
    return SentenceFolder(_pooling(file), tuple(after), tuple(left_out))


def _pooling(path: Path) -> tuple[Pooling, ...]:
    pooling = read_fields(path)
    named = pooling.get("pooling_mode")
    if named is None:
        named = [name for name, (older, _) in _MODES.items() if pooling.get(older)] or ["mean"]  # as the library has it
    modes = [named] if isinstance(named, str) else named
    if not isinstance(modes, list) or not modes or not all(isinstance(m, str) and m in _MODES for m in modes):
        raise NetworkError(f"{path} has the pooling {named!r}; expected some of {', '.join(_MODES)}")
    return tuple(_MODES[mode][1] for mode in modes)


def _check_dense(settings: dict[str, Any], path: Path) -> None:
    sizes = [settings.get(name) for name in ("in_features", "out_features")]
    activation = settings.get("activation_function", "torch.nn.modules.activation.Tanh")
    package, _, name = str(activation).rpartition(".")
    if not all(isinstance(size, int) and size > 0 for size in sizes):
        raise NetworkError(f"{path} has in_features and out_features {sizes}; expected whole numbers above 0")
    if not f"{package}.".startswith("torch.nn.") or name not in ACTIVATIONS:
        raise NetworkError(
            f"{path} has the activation {activation!r}; expected one of torch.nn: {', '.join(ACTIVATIONS)}"
        )
