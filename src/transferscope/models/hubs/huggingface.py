"""Networks of transformers: a folder that `save_pretrained` wrote, or the name of one on the Hugging Face hub."""

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

from transferscope.errors import MissingDataError, NetworkError, TransferscopeError
from transferscope.models.adapt import NO_HEAD
from transferscope.models.fields import check_folder, read_json
from transferscope.models.hubs.hub import NamedModule, WithWeights, first_line, imported, said
from transferscope.models.hubs.sentences import SentenceFolder, read_sentence_folder
from transferscope.models.inputs import NetworkInput, read_image_processor
from transferscope.models.network import seeded
from transferscope.models.texts import AFTER, POOLING

_TOKEN_HEADS = ("ForMaskedLM", "ForPreTraining", "LMHeadModel", "ForCausalLM")  # heads that predict tokens
_VOLATILE = ("_name_or_path", "transformers_version", "dtype", "torch_dtype")  # of a configuration: no answer depends


@dataclass(frozen=True)
class HuggingFace(NamedModule):
    """A network of transformers.

    Its class is the one that its configuration names; code that lies beside the weights is never run, and weights are
    read from safetensors alone.

    Attributes:
        name: A folder, or an id on the hub, which is fetched once.
    """

    name: str

    @cached_property
    def folder(self) -> Path:
        """Where its files are."""
        given = Path(self.name).expanduser()
        if given.is_dir():
            if not (given / "config.json").is_file():
                raise NetworkError(f"{given} has no config.json; give a folder that save_pretrained wrote")
            return given
        if given.is_absolute() or self.name.startswith((".", "~")) or self.name.count("/") > 1:
            raise MissingDataError(
                f"there is no folder {given}; give one that save_pretrained wrote, or an id of the hub"
            )
        hub = imported("huggingface_hub", "hf")
        try:
            return Path(hub.snapshot_download(self.name, allow_patterns=["*.json", "*.safetensors"]))
        except Exception as error:  # of the network, of the hub, of the name
            raise MissingDataError(
                f"hf:{self.name} is no folder here and cannot be fetched from the hub: {first_line(error)}"
            ) from error

    @cached_property
    def input(self) -> NetworkInput | None:
        """The vocabulary of a text model; else `preprocessor_config.json`, or the size of the configuration."""
        vocabulary = self._json.get("vocab_size")
        if isinstance(vocabulary, int) and "image_size" not in self._json and "vision_config" not in self._json:
            return NetworkInput(vocabulary=vocabulary)
        found = read_image_processor(self.folder)
        size, channels = self._json.get("image_size"), self._json.get("num_channels")
        usual = NetworkInput(
            size=size if isinstance(size, int) else None, channels=channels if channels in (1, 3) else None
        )
        return usual if found is None else found.over(usual)

    @property
    def head(self) -> str | None:
        """Found by itself in a model with logits; other models make features alone."""
        return None if "For" in self.kind.__name__ else NO_HEAD

    @property
    def tokenizer(self) -> Path | None:
        """The folder of its tokenizer; None where it has none, or reads no texts."""
        reads = self.input is not None and self.input.vocabulary is not None
        return self.folder if reads and (self.folder / "tokenizer.json").is_file() else None

    @property
    def identity(self) -> Mapping[str, Any]:
        """The configuration, and what follows the encoder in a folder of sentence-transformers."""
        config = {key: value for key, value in self._json.items() if key not in _VOLATILE}
        found = self.sentences
        return {"config": config} if found is None else {"config": config, "sentences": asdict(found)}

    def random(self, seed: int) -> nn.Module:
        """The model of the configuration, as its class initialises it."""
        with seeded(seed), self.said("made of its configuration"):
            module: nn.Module = self.kind(self.configuration, **self._options)
            return self._pooled(module).train()

    def trained(self) -> WithWeights:
        """The model with the weights of its safetensors file."""
        with seeded(0), self.said("opened"):
            module, found = self.kind.from_pretrained(
                str(self.folder),
                config=self.configuration,
                use_safetensors=True,
                local_files_only=True,
                output_loading_info=True,
                **self._options,
            )
            module = self._pooled(module)
            if self.sentences is not None and hasattr(module, AFTER):
                self.sentences.load(getattr(module, AFTER), self.folder)
        wrong = [str(key[0] if isinstance(key, tuple) else key) for key in found["mismatched_keys"]]
        missing = tuple(sorted({*map(str, found["missing_keys"]), *wrong}))
        return WithWeights(module.train(), missing, tuple(sorted(map(str, found["unexpected_keys"]))))

    def _pooled(self, module: nn.Module) -> nn.Module:
        """The module, which knows how a folder of sentence-transformers goes on, with layers of random weights."""
        if self.sentences is not None:
            setattr(module, POOLING, self.sentences.pooling)
            layers = self.sentences.made()
            if layers is not None:
                module.add_module(AFTER, layers)
        return module

    @cached_property
    def sentences(self) -> SentenceFolder | None:
        """What follows the encoder in a folder of sentence-transformers; None for another folder."""
        return read_sentence_folder(self.folder)

    @cached_property
    def _json(self) -> dict[str, Any]:
        check_folder(self.folder)
        found: dict[str, Any] = read_json(self.folder / "config.json")
        return found

    @cached_property
    def configuration(self) -> Any:
        """The configuration, as transformers reads it."""
        with self.said("opened"):
            found = transformers_package().AutoConfig.from_pretrained(
                str(self.folder), local_files_only=True, trust_remote_code=False
            )
            found = found.vision_config if self._of_images is not None else found
            found.dtype, found.return_dict, found.output_hidden_states = torch.float32, True, False
            return found

    @property
    def _of_images(self) -> Any:
        """The image tower of a class that reads images and texts, as CLIPVisionModel of CLIPModel; None for others."""
        named = (self._json.get("architectures") or [None])[0]
        if not isinstance(named, str) or not {"vision_config", "text_config"} <= self._json.keys():
            return None
        return getattr(transformers_package(), f"{named.removesuffix('Model')}VisionModel", None)

    @cached_property
    def kind(self) -> Any:
        """The class that the configuration names; of one whose head predicts tokens, or projects, the encoder."""
        named = (self._json.get("architectures") or [None])[0]
        plain = named.removesuffix("WithProjection") if isinstance(named, str) else ""
        found = self._of_images or getattr(transformers_package(), plain, None)
        if found is not None and named.endswith(_TOKEN_HEADS):
            found = transformers_package().MODEL_MAPPING.get(type(self.configuration), found)  # its encoder
        if found is None:
            raise NetworkError(
                f"the configuration of hf:{self.name} names the architecture {named!r}, which this version of "
                "transformers does not have; give a model whose code is part of transformers"
            )
        return found

    @cached_property
    def _options(self) -> dict[str, Any]:
        """Without a pooling layer that is not used, or that the file has no weights for."""
        of_file = any("pooler" in name for name in self._stored_names)
        if self.head != NO_HEAD or (of_file and self.sentences is None):
            return {}
        with seeded(0):
            whole = self.kind(self.configuration)
        if any("pooler" in name for name, _ in whole.named_parameters()):
            return {"add_pooling_layer": False}
        return {}

    @property
    def _stored_names(self) -> list[str]:
        names: list[str] = []
        for file in sorted(self.folder.glob("*.safetensors")):
            try:
                with safe_open(file, framework="pt") as stored:
                    names += stored.keys()
            except (SafetensorError, OSError) as error:
                raise NetworkError(f"{file} cannot be read as weights; expected a safetensors file") from error
        return names

    @contextmanager
    def said(self, what: str) -> Iterator[None]:
        """Whatever transformers raises, in one sentence; its progress bars and warnings stay out of the way."""
        transformers = transformers_package()
        transformers.utils.logging.disable_progress_bar()
        verbosity = transformers.logging.get_verbosity()
        transformers.logging.set_verbosity_error()
        try:
            with said(f"hf:{self.name}", what):
                yield
        finally:
            transformers.logging.set_verbosity(verbosity)


def transformers_package() -> ModuleType:
    """The package; a torchvision that cannot be imported beside this torch is hidden from it, which needs none."""
    if "torchvision" not in sys.modules:
        try:
            imported("torchvision", "torchvision")
        except TransferscopeError:
            for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
                del sys.modules[name]
            sys.modules["torchvision"] = None  # type: ignore[assignment]  # how Python marks what is not to be imported
    return imported("transformers", "hf")
