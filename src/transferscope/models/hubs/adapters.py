"""Folders of PEFT: low-rank changes of a network's layers (LoRA, Hu et al. 2021), merged into the network."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from transferscope.errors import MissingDataError, NetworkError
from transferscope.models.fields import check_fields, read_json
from transferscope.models.weights import check_weights

SETTINGS, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"

_WRAPPED = "base_model.model."  # before all names of the file of weights
_FACTOR = re.compile(r"(.+)\.lora_(?:embedding_)?([AB])(?:\.weight)?")


@dataclass(frozen=True)
class Adapter:
    """The changes of a PEFT adapter.

    Attributes:
        base: Folder of the network that it changes.
        alpha: A change B A of rank r is multiplied with alpha / r.
        alphas: Other values of alpha, by a pattern of the ends of layers' names.
        by_root: Whether the factor is alpha / sqrt(r) instead (rsLoRA, Kalajdzievski 2023).
    """

    folder: Path
    base: Path
    alpha: float
    alphas: Mapping[str, float]
    by_root: bool

    @torch.no_grad()
    def merge(self, module: nn.Module) -> tuple[str, ...]:
        """Merge the changes into a network's weights, and take over fully trained weights.

        Args:
            module: The transformers model to which the adapter belongs, or its encoder.

        Returns:
            Names of the weights of a head that the network does not have.

        Raises:
            NetworkError: A layer is missing, has another shape, or is neither linear nor an embedding.
            CorruptDataError: The weights are not dense floating-point numbers.
        """
        file = self.folder / WEIGHTS
        try:
            stored = load_file(file).items()
        except (SafetensorError, OSError) as error:
            raise NetworkError(f"{file} cannot be read as weights; expected a safetensors file") from error
        given = {name.removeprefix(_WRAPPED).replace(".base_layer.", "."): tensor for name, tensor in stored}
        check_weights(given, {}, file)
        own, layers = module.state_dict(), dict(module.named_modules())
        prefix = f"{getattr(module, 'base_model_prefix', '')}."
        has_head = any(name.startswith(prefix) for name in given)

        def place(name: str, known: Mapping[str, object]) -> str | None:
            key_of = next((n for n in (name, name.removeprefix(prefix), f"{prefix}{name}") if n in known), None)
            if key_of is None and (name.startswith(prefix) or not has_head):
                raise NetworkError(f"{file} changes {name}, which {self.base} lacks; give its base model")
            return key_of

        factors: dict[str, dict[str, Tensor]] = {}
        of_head = []
        for name, tensor in given.items():
            if factor := _FACTOR.fullmatch(name):
                factors.setdefault(factor[1], {})[factor[2]] = tensor.float()
            elif (key := place(name, own)) is None:
                of_head.append(name)
            elif own[key].shape != tensor.shape:
                raise NetworkError(
                    f"{file} has {name} of shape {tuple(tensor.shape)}; expected {tuple(own[key].shape)}"
                )
            else:
                own[key].copy_(tensor)
        for name, pair in factors.items():
            if (key := place(name, layers)) is None:
                of_head.append(name)
            else:
                self._add(layers[key], name, pair)
        return tuple(of_head)

    def _add(self, layer: nn.Module, name: str, pair: Mapping[str, Tensor]) -> None:
        is_turned = isinstance(layer, nn.Embedding) or type(layer).__name__ == "Conv1D"  # weights (n_in, n_out)
        if not (is_turned or isinstance(layer, nn.Linear)) or pair.keys() != {"A", "B"}:
            raise NetworkError(
                f"{self.folder} changes {name}, a {type(layer).__name__}, by {' and '.join(sorted(pair))}; expected A "
                "and B of a linear layer or an embedding: merge the adapter into its model (merge_and_unload of peft)"
            )
        rank = len(pair["A"])
        alpha = next((a for key, a in self.alphas.items() if re.match(rf"(.*\.)?({key})$", name)), self.alpha)
        weight: Any = layer.weight
        try:
            change = pair["B"] @ pair["A"] * (alpha / (math.sqrt(rank) if self.by_root else rank))
            weight += change.T if is_turned else change
        except RuntimeError as error:
            shapes = ", ".join(f"{side} {tuple(factor.shape)}" for side, factor in sorted(pair.items()))
            raise NetworkError(
                f"{self.folder} changes {name} of shape {tuple(weight.shape)} by {shapes}, which do not fit; give "
                "its base model"
            ) from error


def read_adapter(folder: Path) -> Adapter | None:
    """Return the adapter in a folder; None if there is none, or also a model.

    Raises:
        NetworkError: It has another kind, an unsupported setting, or its base is not a local folder.
        MissingDataError: Its base is missing.
    """
    path = folder / SETTINGS
    if not path.is_file() or (folder / "config.json").exists():
        return None
    config = read_json(path)
    kind = config.get("peft_type") if isinstance(config, dict) else None
    if kind != "LORA":
        raise NetworkError(
            f"{path} has an adapter of type {kind!r}; expected LORA: merge it into its model (merge_and_unload of "
            "peft) and save that"
        )
    check_fields(path, config)
    named, alpha, alphas = (config.get(key) for key in ("base_model_name_or_path", "lora_alpha", "alpha_pattern"))
    alphas = alphas or {}
    numbers = [alpha, *(alphas.values() if isinstance(alphas, dict) else [None])]
    if not all(isinstance(number, (int, float)) and math.isfinite(number) for number in numbers):
        raise NetworkError(f"{path} has lora_alpha = {alpha!r} and alpha_pattern = {alphas!r}; expected numbers")
    for key in alphas:
        try:
            re.compile(key)
        except re.error as error:
            raise NetworkError(f"{path} has alpha_pattern = {key!r}; expected a regular expression") from error
    given = Path(str(named)).expanduser()
    base = next((place for place in (folder / given, given) if (place / "config.json").is_file()), None)
    if not named or base is None:
        raise MissingDataError(
            f"{folder} has an adapter of {named!r}, which is not a local model folder; download that model and set "
            f"base_model_name_or_path in {SETTINGS} to its folder, or merge the adapter (merge_and_unload of peft)"
        )
    return Adapter(folder, base, float(alpha), alphas, bool(config.get("use_rslora")))
