"""A device that is none: tensors that say they lie on it, compute on the CPU, and keep the rules of a real one."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import _VF, Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map_only

from transferscope.training import tensors

aten = torch.ops.aten

WAITS = {"_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero", "_unique2", "unique_dim", "bincount",
         "repeat_interleave", "_linalg_eigh", "_linalg_svd", "linalg_eig", "_linalg_solve_ex"}  # fmt: skip
"""Operations whose answer, or whose shape, the processor must know before it goes on."""


class OnDevice(Tensor):
    """A tensor of the CPU that says it lies on another device."""

    whole: Tensor
    said: torch.device

    @staticmethod
    def __new__(cls, whole: Tensor, said: torch.device) -> "OnDevice":
        made = torch.Tensor._make_wrapper_subclass(
            cls, whole.shape, strides=whole.stride(), storage_offset=whole.storage_offset(), dtype=whole.dtype,
            device=torch.device("cpu"), requires_grad=whole.requires_grad,
        )  # fmt: skip
        made.whole, made.said = whole, said
        return made

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return self.said

    @property
    def is_cuda(self) -> bool:  # type: ignore[override]
        return self.said.type == "cuda"

    def __repr__(self) -> str:  # type: ignore[override]
        return f"OnDevice({self.whole!r}, {self.said})"

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        raise AssertionError(f"{func} outside of its device")

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]


@dataclass
class FakeDevice(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Operations as on a device of a type, with its rules.

    Attributes:
        type: "mps", which has no float64, or "cuda".
        waits: What the processor has waited for, in order.
        leaving: Whether a tensor is being copied to the CPU.
    """

    type: str
    waits: list[str] = field(default_factory=list)
    leaving: bool = False

    def __post_init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        flat, _ = tree_flatten((args, kwargs))
        here = [one for one in flat if isinstance(one, OnDevice)]
        elsewhere = [one for one in flat if isinstance(one, Tensor) and not isinstance(one, OnDevice)]
        asked = kwargs.get("device")
        name = func._schema.name.split("::")[1]
        moved = asked is not None and torch.device(asked).type
        target = torch.device(self.type, 0) if moved == self.type else None
        if asked is not None and moved in (self.type, "cpu"):
            kwargs["device"] = torch.device("cpu")
        if target is not None and name == "_to_copy" and elsewhere and self.type == "mps":
            if kwargs.get("non_blocking"):
                raise AssertionError("a copy to mps that is not waited for reads what may be freed by then")
        elif target is not None and name == "_to_copy" and elsewhere and not kwargs.get("non_blocking"):
            self.waits.append("a copy from the CPU")
        elif here and moved == "cpu" and self.leaving:
            self.waits.append(f"{name} to the CPU")
        elif here and name == "copy_":
            if not isinstance(args[0], OnDevice):
                self.waits.append("copy_ to the CPU")
        elif here:
            target = torch.device(self.type, 0)
            wrong = [one for one in elsewhere if one.ndim > 0]
            if wrong and name in ("index", "index_put", "index_put_", "_index_put_impl_"):
                self.waits.append(f"{name} by an index of the CPU")
            elif wrong:
                raise AssertionError(f"{name} of tensors on {self.type} and on the CPU ({tuple(wrong[0].shape)})")
            masks = [one for one in here[1:] if one.dtype == torch.bool] if name == "index" else []
            if name in WAITS or masks:
                self.waits.append(name)
        if target is not None and isinstance(kwargs.get("generator"), torch.Generator):
            raise AssertionError(f"{name} on {self.type} with a generator of the CPU")
        plain = tree_map_only(OnDevice, lambda one: one.whole, (args, kwargs))
        found = func(*plain[0], **plain[1])
        if here and torch.Tag.inplace_view in func.tags:  # as in vector @ matrix
            with no_dispatch():
                func(*args, **kwargs)
            return args[0]
        if target is None:
            return found if not _inplace(func, args) else args[0]
        places = {id(one.whole): one for one in here}

        def wrapped(one: Tensor) -> Tensor:
            if id(one) in places:
                return places[id(one)]
            if self.type == "mps" and one.dtype == torch.float64:
                raise AssertionError(f"{name} gives float64, which {self.type} has not")
            return OnDevice(one, target)

        return tree_map_only(Tensor, wrapped, found)


def _inplace(func: Any, args: Any) -> bool:
    return func._schema.name.endswith("_") and bool(args) and isinstance(args[0], OnDevice)


@dataclass
class _Calls(TorchFunctionMode):
    """What torch decides by the true device of a tensor, before any operation is seen: by the one it says instead."""

    device: FakeDevice

    def __post_init__(self) -> None:
        super().__init__()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in (torch.tensor, torch.as_tensor) and kwargs.get("device") is not None:
            device = torch.device(kwargs.pop("device"))
            return func(*args, **kwargs).to(device)
        of_cudnn = self.device.type == "cuda" and func in (_VF.lstm, _VF.gru, _VF.rnn_tanh)
        if of_cudnn and not args[6] and torch.is_grad_enabled() and torch.backends.cudnn.enabled:
            raise AssertionError("recurrent layers of cuDNN have no gradient in evaluation mode")
        if func is Tensor.to and len(args) > 1 and isinstance(args[1], OnDevice) and not isinstance(args[0], OnDevice):
            return func(args[0], args[1].device, args[1].dtype)
        if not args or not isinstance(args[0], OnDevice):
            return func(*args, **kwargs)
        first: OnDevice = args[0]
        if func is Tensor.cpu:
            return self._left(first)
        if func is Tensor.to:
            return self._moved(first, *args[1:], **kwargs)
        if func is Tensor.tolist:
            self.device.waits.append("tolist")
            return first.whole.tolist()
        if func is F.one_hot:
            return OnDevice(func(first.whole, *args[1:], **kwargs), first.said)
        return func(*args, **kwargs)

    def _left(self, tensor: OnDevice, **kwargs: Any) -> Tensor:
        self.device.leaving = True
        try:
            return aten._to_copy.default(tensor, device="cpu", **kwargs)  # type: ignore[no-any-return]
        finally:
            self.device.leaving = False

    def _moved(self, tensor: OnDevice, *args: Any, **kwargs: Any) -> Tensor:
        kwargs.pop("copy", None)
        if args and isinstance(args[0], Tensor):
            device, dtype, layout = args[0].device, args[0].dtype, None
        else:
            device, dtype, _, layout = torch._C._nn._parse_to(*args, **kwargs)
        if device is not None and device.type == "cpu":
            return self._left(tensor, dtype=dtype, memory_format=layout)
        if (dtype is None or dtype == tensor.dtype) and layout is None:
            return tensor
        return aten._to_copy.default(tensor, dtype=dtype, memory_format=layout)  # type: ignore[no-any-return]


@contextmanager
def fake_device(type: str) -> Iterator[FakeDevice]:
    """A device of this type, "mps" or "cuda", while this lasts; `choose_device` gives its first one."""
    overwrite = torch.__future__.get_overwrite_module_params_on_conversion()
    with pytest.MonkeyPatch.context() as patch:
        generator = torch.Generator()
        begun: list[bool] = []

        def reset_peak_memory_stats(device: Any = None) -> None:
            assert begun, "torch.cuda.reset_peak_memory_stats before torch.cuda.init: RuntimeError on a real device"

        patch.setattr(torch.nn.RNNBase, "flatten_parameters", lambda self: None)
        patch.setattr(torch.mps, "get_rng_state", generator.get_state)
        patch.setattr(torch.mps, "set_rng_state", generator.set_state)
        for name, stands_for in {
            "_lazy_init": lambda: begun.append(True),
            "get_rng_state": lambda device=None: generator.get_state(),
            "set_rng_state": lambda state, device=None: generator.set_state(state),
            "mem_get_info": lambda device=None: (2**33, 2**34),
            "max_memory_allocated": lambda device=None: 2**20,
            "reset_peak_memory_stats": reset_peak_memory_stats,
            "synchronize": lambda device=None: None,
            "manual_seed_all": lambda seed: None,
        }.items():
            patch.setattr(torch.cuda, name, stands_for)
        choose = tensors.choose_device
        modules = [one for one in sys.modules.values() if isinstance(one, ModuleType)]  # others may stand there
        for module in [one for one in modules if vars(one).get("choose_device") is choose]:
            patch.setattr(module, "choose_device", lambda name: torch.device("cpu" if name == "cpu" else type, 0))
        torch.__future__.set_overwrite_module_params_on_conversion(True)
        try:
            with FakeDevice(type) as device, _Calls(device):
                yield device
        finally:
            torch.__future__.set_overwrite_module_params_on_conversion(overwrite)
