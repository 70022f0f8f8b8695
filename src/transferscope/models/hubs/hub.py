"""The interface of sources of networks by name."""

import importlib
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from traceback import walk_tb
from types import ModuleType
from typing import Any

import torch
from torch import nn

from transferscope.errors import NetworkError, TransferscopeError, first_line, missing_extra
from transferscope.models.inputs import NetworkInput


@dataclass(frozen=True)
class WithWeights:
    """A module with its pretrained weights.

    Attributes:
        missing: Names of weights of the module without a pretrained value.
        unexpected: Names of pretrained weights that the module lacks.
    """

    module: nn.Module
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()


class NamedModule(ABC):
    """A module by name, before it is split into features and head."""

    @property
    @abstractmethod
    def input(self) -> NetworkInput | None:
        """The preprocessing of inputs for its weights; None if unknown."""

    @property
    def head(self) -> str | None:
        """The name of its head; None if it must be searched."""
        return None

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything about its origin, except name and weights, that can change a result, as JSON values."""
        return {}

    @abstractmethod
    def random(self, seed: int) -> nn.Module:
        """Return the module with weights drawn from a seed; the global random state does not change.

        Raises:
            NetworkError: It cannot be built, or its weights cannot be initialised.
        """

    @abstractmethod
    def trained(self) -> WithWeights:
        """Return the module with its pretrained weights.

        Raises:
            NetworkError: It cannot be built, or the name has no weights.
        """


def imported(package: str, extra: str) -> ModuleType:
    """Import an optional package, which the extra `extra` of transferscope installs.

    Raises:
        MissingExtraError: It is not installed.
        NetworkError: It is installed but cannot be imported, such as a torchvision for another torch; the message ends
        with the command that fixes it.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(package)
    except Exception as error:  # a library that does not load raises OSError or RuntimeError
        if isinstance(error, ModuleNotFoundError) and error.name == package:
            raise missing_extra(package, extra, f"opening a network of {package}") from error
        if isinstance(error, ModuleNotFoundError):
            remedy = f"pip install 'transferscope[{extra}]'"
        elif any(
            str(frame.f_globals.get("__name__")).startswith("torchvision") for frame, _ in walk_tb(error.__traceback__)
        ):
            remedy = matching_torchvision()
        else:
            remedy = f"pip install --force-reinstall {package}"
        raise NetworkError(f"{package} is installed and cannot be imported: {first_line(error)}; {remedy}") from error


def matching_torchvision() -> str:
    """Return the command that installs the torchvision of this torch's version and build."""
    version, _, build = torch.__version__.partition("+")
    index = f" --index-url https://download.pytorch.org/whl/{build}" if build else ""
    return f"pip uninstall --yes torchvision; pip install torch=={version} torchvision{index}"


@contextmanager
def as_network_error(name: str, what: str) -> Iterator[None]:
    """Convert every exception of a library to a NetworkError of one sentence.

    Args:
        name: The network, as in "timm:resnet18".
        what: The failed action, as in "opened".
    """
    try:
        yield
    except TransferscopeError:
        raise
    except Exception as error:  # code of another package may raise anything
        raise NetworkError(f"the network {name} cannot be {what}: {first_line(error)}") from error
