"""Networks of transformers: a folder written by `save_pretrained`, or a model id on the Hugging Face hub."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from transferscope.errors import (
    CorruptDataError,
    MissingDataError,
    NetworkError,
    TransferscopeError,
    first_line,
    missing_file,
)
from transferscope.files import require_regular
from transferscope.models.adapt import NO_HEAD
from transferscope.models.fields import check_folder, read_json
from transferscope.models.hubs.adapters import SETTINGS as ADAPTER
from transferscope.models.hubs.adapters import Adapter, read_adapter
from transferscope.models.hubs.hub import NamedModule, WithWeights, as_network_error, imported
from transferscope.models.hubs.sentences import SentenceFolder, read_sentence_folder
from transferscope.models.inputs import NetworkInput, read_image_processor
from transferscope.models.network import seeded
from transferscope.models.texts import AFTER, POOLING
from transferscope.models.weights import check_checksum

_TOKEN_HEADS = ("ForMaskedLM", "ForPreTraining", "LMHeadModel", "ForCausalLM")  # heads that predict tokens
_FORMS = ("F16", "BF16", "F32", "F64")
_VOLATILE = ("_name_or_path", "transformers_version", "dtype", "torch_dtype")  # of a configuration: no answer depends
_OF_TEXTS = ("CLIPModel", "MetaClip2Model", "SiglipModel", "Siglip2Model")  # with a pooled output of the texts' tower

TOWERS = ("vision", "text")
"""Towers of models of images and texts, as in "hf:FOLDER#text"."""


def split_tower(name: str) -> tuple[str, str]:
    """Split a name from its tower, "" if it has none.

    Raises:
        NetworkError: The tower is unknown.
    """
    place, mark, tower = name.rpartition("#")
    if not mark or Path(name).expanduser().is_dir():
        return name, ""
    if tower not in TOWERS:
        raise NetworkError(
            f"hf:{name} has the tower {tower!r}; expected #vision or #text of a model of images and texts"
        )
    return place, tower


@dataclass(frozen=True)
class HuggingFace(NamedModule):
    """A transformers network.

    Its class is named by its configuration; code in the folder is never run, and weights are read only from
    safetensors.

    Attributes:
        name: A folder, or an id on the hub, which is downloaded once; with `#vision` or `#text` for a tower of a model
            of images and texts. A folder with a LoRA adapter of PEFT is its base with the adapter merged.
    """

    name: str

    @cached_property
    def folder(self) -> Path:
        """The folder of the network's files; for an adapter, that of its base."""
        return self._given if self.adapter is None else self.adapter.base

    @cached_property
    def adapter(self) -> Adapter | None:
        """The adapter merged into the network; usually None."""
        return read_adapter(self._given)

    @cached_property
    def _given(self) -> Path:
        place, _ = split_tower(self.name)
        given = Path(place).expanduser()
        if given.is_dir():
            if not any((given / name).is_file() for name in ("config.json", ADAPTER)):
                raise NetworkError(f"{given} has no config.json; give a folder written by save_pretrained")
            for path in given.rglob("*"):
                if not path.is_dir():  # transformers would wait for a pipe
                    require_regular(path, "the files that save_pretrained wrote")
            return given
        if given.is_absolute() or place.startswith((".", "~")) or place.count("/") > 1:
            raise missing_file(
                "folder",
                given,
                "give one written by save_pretrained, or a model id of the Hugging Face hub",
            )
        hub = imported("huggingface_hub", "hf")
        try:
            return Path(hub.snapshot_download(place, allow_patterns=["*.json", "*.safetensors"]))
        except Exception as error:  # of the network, of the hub, of the name
            raise MissingDataError(
                f"hf:{place} is not a local folder and cannot be downloaded from the hub: {first_line(error)}"
            ) from error

    @cached_property
    def input(self) -> NetworkInput | None:
        """The vocabulary of a text model; otherwise `preprocessor_config.json`, or the size in the configuration."""
        if self.tower == "text":
            return NetworkInput(vocabulary=self.configuration.vocab_size)
        vocabulary = self._json.get("vocab_size")
        if isinstance(vocabulary, int) and "image_size" not in self._json and "vision_config" not in self._json:
            return NetworkInput(vocabulary=vocabulary)
        processor = read_image_processor(self.folder)
        size, channels = self._json.get("image_size"), self._json.get("num_channels")
        usual = NetworkInput(
            size=size if isinstance(size, int) else None, channels=channels if channels in (1, 3) else None
        )
        return usual if processor is None else processor.over(usual)

    @property
    def head(self) -> str | None:
        """None for a model with logits, whose head is searched; other models have no head."""
        return None if "For" in self.kind.__name__ else NO_HEAD

    @property
    def tokenizer(self) -> Path | None:
        """The folder of its tokenizer; None without one, or for a model that reads no texts."""
        reads = self.input is not None and self.input.vocabulary is not None
        places = (place for place in (self._given, self.folder) if (place / "tokenizer.json").is_file())
        return next(places, None) if reads else None

    @property
    def identity(self) -> Mapping[str, Any]:
        """The configuration, its tower, and the layers after the encoder in a folder of sentence-transformers."""
        origin: dict[str, Any] = {"config": {key: value for key, value in self._json.items() if key not in _VOLATILE}}
        if self.tower == "text":
            origin["tower"] = self.tower
        return origin if self.sentences is None else {**origin, "sentences": asdict(self.sentences)}

    def random(self, seed: int) -> nn.Module:
        """Return the model of the configuration with its class's initialisation."""
        with seeded(seed), self.as_network_error("made of its configuration"):
            module: nn.Module = self.kind(self.configuration, **self._options)
            return self._pooled(module).train()

    def trained(self) -> WithWeights:
        """Return the model with the weights of its file, in a dtype for training; transformers would cast others."""
        with seeded(0), self.as_network_error("opened"):
            module, loading = self.kind.from_pretrained(
                str(self.folder),
                config=self.configuration,
                use_safetensors=True,
                local_files_only=True,
                output_loading_info=True,
                **self._options,
            )
            of_head = () if self.adapter is None else self.adapter.merge(module)
            module = self._pooled(module)
            if self.sentences is not None and hasattr(module, AFTER):
                self.sentences.load(getattr(module, AFTER), self.folder)
        counted = {name.rpartition(".")[2] for name, tensor in module.named_buffers() if not tensor.is_floating_point()}
        for name, form in self._stored.items():
            is_read = name.rpartition(".")[2] not in counted and name not in loading["unexpected_keys"]
            if is_read and form not in _FORMS:
                raise CorruptDataError(
                    f"hf:{self.name} has {name} in {form}; expected float16, bfloat16, float32 or float64: give the "
                    "model before quantisation"
                )
        wrong = [str(key[0] if isinstance(key, tuple) else key) for key in loading["mismatched_keys"]]
        missing = tuple(sorted({*map(str, loading["missing_keys"]), *wrong}))
        if not missing:
            check_checksum(self.folder / "model.safetensors")
        return WithWeights(module.train(), missing, tuple(sorted({*map(str, loading["unexpected_keys"]), *of_head})))

    def _pooled(self, module: nn.Module) -> nn.Module:
        """Attach the layers of sentence-transformers, with random weights."""
        if self.sentences is not None:
            setattr(module, POOLING, self.sentences.pooling)
            layers = self.sentences.made()
            if layers is not None:
                module.add_module(AFTER, layers)
        return module

    @cached_property
    def sentences(self) -> SentenceFolder | None:
        """The layers after the encoder in a folder of sentence-transformers; None for another folder."""
        return read_sentence_folder(self.folder)

    @cached_property
    def _json(self) -> dict[str, Any]:
        check_folder(self.folder)
        config = read_json(self.folder / "config.json")
        kernel = next(_kernels(config), None)
        if not isinstance(config, dict):
            raise NetworkError(f"{self.folder / 'config.json'} is not a JSON object; download the folder again")
        if kernel is not None:
            raise NetworkError(
                f"{self.folder / 'config.json'} asks to run code of the hub ({kernel}), which is never run; remove "
                "that key"
            )
        return config

    @cached_property
    def configuration(self) -> Any:
        """The transformers configuration."""
        with self.as_network_error("opened"):
            config = transformers_package().AutoConfig.from_pretrained(
                str(self.folder), local_files_only=True, trust_remote_code=False
            )
            config = getattr(config, f"{self.tower}_config") if self.tower else config
            config.dtype, config.return_dict, config.output_hidden_states = torch.float32, True, False
            return config

    @cached_property
    def tower(self) -> str:
        """The tower of a model of images and texts, "vision" or "text"; "" for another model."""
        _, asked = split_tower(self.name)
        two = self._named is not None and {f"{tower}_config" for tower in TOWERS} <= self._json.keys()
        towers = [tower for tower in TOWERS if two and self._class_of(tower) is not None]
        if asked and asked not in towers:
            has = f"its towers are {' and '.join(towers)}" if towers else f"{self._named} is opened as it is"
            raise NetworkError(f"hf:{self.name} has no tower {asked!r}: {has}; leave #{asked} out")
        return asked or ("vision" if "vision" in towers else "")

    @property
    def _named(self) -> str | None:
        named = (self._json.get("architectures") or [None])[0]
        return named if isinstance(named, str) else None

    def _class_of(self, tower: str) -> Any:
        if tower == "text" and self._named not in _OF_TEXTS:
            return None
        return getattr(transformers_package(), f"{str(self._named).removesuffix('Model')}{tower.title()}Model", None)

    @cached_property
    def kind(self) -> Any:
        """The class named in the configuration; the encoder for a model whose head predicts tokens or projects."""
        named = self._named
        plain = "" if named is None else named.removesuffix("WithProjection")
        kind = self._class_of(self.tower) if self.tower else getattr(transformers_package(), plain, None)
        if not (isinstance(kind, type) and issubclass(kind, transformers_package().PreTrainedModel)):
            kind = None  # a function of transformers, or a class of other things
        if kind is not None and plain.endswith(_TOKEN_HEADS):
            kind = transformers_package().MODEL_MAPPING.get(type(self.configuration), kind)  # its encoder
        if kind is None:
            raise NetworkError(
                f"hf:{self.name} has the architecture {named!r}, which the installed transformers lacks; give a model "
                "of transformers itself"
            )
        return kind

    @cached_property
    def _options(self) -> dict[str, Any]:
        """Options to leave out an unused pooling layer, or one without weights in the file."""
        of_file = any("pooler" in name for name in self._stored)
        if self.head != NO_HEAD or (of_file and self.sentences is None):
            return {}
        with torch.device("meta"):
            whole = self.kind(self.configuration)
        if any("pooler" in name for name, _ in whole.named_parameters()):
            return {"add_pooling_layer": False}
        return {}

    @cached_property
    def _stored(self) -> dict[str, str]:
        """The storage type of the weights, by name, in the terms of safetensors."""
        forms: dict[str, str] = {}
        whole = self.folder / "model.safetensors"
        for file in [whole] if whole.exists() else sorted(self.folder.glob("model-*.safetensors")):
            try:
                with safe_open(file, framework="pt") as stored:
                    forms |= {name: stored.get_slice(name).get_dtype() for name in stored.keys()}  # noqa: SIM118
            except (SafetensorError, OSError) as error:
                raise NetworkError(f"{file} cannot be read as weights; expected a safetensors file") from error
        return forms

    @contextmanager
    def as_network_error(self, what: str) -> Iterator[None]:
        """Convert exceptions of transformers to one sentence; hide its progress bars and warnings."""
        transformers = transformers_package()
        transformers.utils.logging.disable_progress_bar()
        verbosity = transformers.logging.get_verbosity()
        transformers.logging.set_verbosity_error()
        try:
            with as_network_error(f"hf:{self.name}", what):
                yield
        finally:
            transformers.logging.set_verbosity(verbosity)


def _kernels(config: object) -> Iterator[str]:
    """Yield references to attention or expert code in a configuration, as in "kernels-community/flash-attn"."""
    for key, value in config.items() if isinstance(config, dict) else ():
        if str(key).endswith("_implementation") and "/" in str(value):
            yield f"{key} = {value}"
        yield from _kernels(value)


def transformers_package() -> ModuleType:
    """Import transformers, hiding a torchvision that cannot be imported with this torch."""
    if "torchvision" not in sys.modules:
        try:
            imported("torchvision", "torchvision")
        except TransferscopeError:
            for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
                del sys.modules[name]
            sys.modules["torchvision"] = None  # type: ignore[assignment]  # how Python marks what is not to be imported
            before = sys.modules.get("transformers.utils.import_utils")
            for answer in list(vars(before).values()) if before else ():
                if hasattr(answer, "cache_clear"):  # what it has found to be there, of somebody who imported it before
                    answer.cache_clear()
    return imported("transformers", "hf")
