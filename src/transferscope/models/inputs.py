"""How a network reads its inputs: image size, channels, and the scaling that it was trained with."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from jaxtyping import Float

from transferscope.errors import CorruptDataError, SettingsError

_LARGEST = 8192  # pixels on a side


@dataclass(frozen=True, slots=True)
class NetworkInput:
    """What a network expects of its inputs.

    A byte b is read as (scale * b - mean) / std. Images in floating point are taken as b / 255, so from 0 to 1.

    Attributes:
        size: Height and width in pixels that images are resized to, at least 1; None for those that they have.
        mean: Subtracted from the scaled values, one number or one per channel; None for 0.
        std: Divided by afterwards, above 0, likewise; None for 1.
        channels: 1 or 3: images in colour become grey, or grey ones are repeated; None for the channels that they have.
        scale: Multiplied with bytes before, above 0; None for 1/255.
        vocabulary: For a network that reads texts, the number of tokens that it knows, at least 1; the others are for
            images and vectors. None for a network that reads numbers.

    With none of `mean`, `std` and `scale` the scaling is not known, and inputs are standardised by the training
    examples of their own data.

    Raises:
        SettingsError: A number is out of its range.

    Example:
        >>> NetworkInput(size=224, mean=127, std=128, scale=1).per_unit[0].round(3)
        array([0.498], dtype=float32)
    """

    size: int | None = None
    mean: float | tuple[float, ...] | None = None
    std: float | tuple[float, ...] | None = None
    channels: int | None = None
    scale: float | None = None
    vocabulary: int | None = None

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.size is not None and not 1 <= self.size <= _LARGEST:
            raise SettingsError(f"size = {self.size} is out of range; expected pixels from 1 to {_LARGEST}")
        if self.vocabulary is not None:
            others = (self.size, self.mean, self.std, self.channels, self.scale)
            if self.vocabulary < 1 or any(other is not None for other in others):
                raise SettingsError("a network of texts has a vocabulary of at least 1 token, and no size or scaling")
        if self.channels not in (None, 1, 3):
            raise SettingsError(f"channels = {self.channels}; expected 1 (grey) or 3 (colour)")
        mean, std = _numbers(self.mean, 0.0), _numbers(self.std, 1.0)
        if not all(map(math.isfinite, (*mean, *std))) or min(std, default=0.0) <= 0 or not mean:
            raise SettingsError(
                f"mean = {self.mean} and std = {self.std}; expected one number each, or one per channel, with each std "
                "above 0"
            )
        if self.scale is not None and not 0 < self.scale < math.inf:
            raise SettingsError(f"scale = {self.scale} is out of range; expected a number above 0, as in 1 or 0.00392")
        lengths = {len(numbers) for numbers in (mean, std) if len(numbers) > 1}
        if len(lengths) > 1 or (lengths and self.channels is not None and lengths != {self.channels}):
            of_channels = "" if self.channels is None else f" and channels = {self.channels}"
            raise SettingsError(
                f"mean has {len(mean)} and std {len(std)} numbers{of_channels}; give one each, or one per channel"
            )

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The input as it is written on the command line.

        Args:
            text: Settings with commas between them, several numbers with slashes:
                "size=224,mean=0.485/0.456/0.406,std=0.229/0.224/0.225,channels=3".

        Raises:
            SettingsError: A name is unknown, or a value no number.
        """
        found: dict[str, Any] = {}
        for part in text.split(","):
            name, _, value = part.strip().partition("=")
            if name in found:
                raise SettingsError(f"the input {text!r} gives {name} twice; give it once")
            try:
                if name in ("size", "channels"):
                    found[name] = int(value)
                elif name in ("mean", "std", "scale"):
                    numbers = tuple(map(float, value.split("/")))
                    found[name] = numbers[0] if len(numbers) == 1 else numbers
                    if name == "scale" and len(numbers) > 1:
                        raise ValueError
                else:
                    raise ValueError
            except ValueError as error:
                raise SettingsError(
                    f"the input {text!r} cannot be read at {part.strip()!r}; expected size, mean, std, channels and "
                    "scale, as in size=64,mean=127,std=128,scale=1 (several numbers as in mean=0.5/0.4/0.4)"
                ) from error
        return cls(**found)

    @property
    def is_scaled(self) -> bool:
        """Whether the scaling is known; tokens have none."""
        return any(value is not None for value in (self.mean, self.std, self.scale, self.vocabulary))

    @property
    def per_unit(self) -> tuple[Float[np.ndarray, " C"], Float[np.ndarray, " C"]]:
        """Mean and standard deviation of values read as 0..1, as 255 times the scale would have them; float32."""
        unit = 255.0 * (1 / 255 if self.scale is None else self.scale)
        mean, std = (np.array(_numbers(value, usual)) for value, usual in ((self.mean, 0.0), (self.std, 1.0)))
        n = max(len(mean), len(std))
        return tuple(np.broadcast_to(v / unit, n).astype(np.float32) for v in (mean, std))  # type: ignore[return-value]

    @property
    def transforms(self) -> tuple[str, ...]:
        """The transformations that bring images to the size and channels, as data name them."""
        channels = {None: (), 1: ("grey",), 3: ("colour",)}[self.channels]
        return (*channels, *(() if self.size is None else (f"resize:{self.size}",)))

    def over(self, known: "NetworkInput | None") -> "NetworkInput":
        """What is set here, and for the rest what is known; mean, std and scale go together."""
        if known is None:
            return self
        if known.vocabulary is not None and (self.size, self.channels, self.is_scaled) != (None, None, False):
            raise SettingsError("the network reads texts, which have no size or scaling; leave its input out")
        scaling = self if self.is_scaled else known
        return NetworkInput(
            known.size if self.size is None else self.size,
            scaling.mean,
            scaling.std,
            known.channels if self.channels is None else self.channels,
            scaling.scale,
            self.vocabulary if known.vocabulary is None else known.vocabulary,
        )

    def __str__(self) -> str:
        """In words: "64 x 64 pixels, 3 channels, (1 * byte - 127) / 128"."""
        if self.vocabulary is not None:
            return f"texts of {self.vocabulary:,} tokens"
        parts = [] if self.size is None else [f"{self.size} x {self.size} pixels"]
        parts += {None: [], 1: ["grey"], 3: ["3 channels"]}[self.channels]
        if not self.is_scaled:
            return ", ".join([*parts, "standardised by the training examples"])
        mean, std = ("/".join(f"{n:g}" for n in _numbers(v, u)) for v, u in ((self.mean, 0.0), (self.std, 1.0)))
        scale = "byte / 255" if self.scale is None else "byte" if self.scale == 1 else f"{self.scale:g} * byte"
        return ", ".join([*parts, f"({scale} - {mean}) / {std}"])


def read_image_processor(folder: Path) -> NetworkInput | None:
    """The input that a folder's `preprocessor_config.json` (of an image processor of transformers) says.

    Args:
        folder: As `save_pretrained` writes it.

    Returns:
        Size, scaling and three channels; None when there is no such file.

    Raises:
        CorruptDataError: There is one that is no image processor's, or does what a `NetworkInput` cannot say: images
            that are not square, channels in another order.
    """
    path = folder / "preprocessor_config.json"
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        size = found.get("crop_size") if found.get("do_center_crop") else found.get("size")
        if isinstance(size, dict):
            if size.get("height") != size.get("width"):
                raise ValueError("images that are not square")
            size = size.get("height", size.get("shortest_edge"))
        if found.get("do_flip_channel_order"):
            raise ValueError("channels in another order")
        normalised = found.get("do_normalize", True)
        rescaled = found.get("do_rescale", True)
        scale = float(found.get("rescale_factor", 1 / 255)) if rescaled else 1.0
        mean, std = (found.get(name) if normalised else None for name in ("image_mean", "image_std"))
        if normalised and (mean is None or std is None):
            raise KeyError("image_mean")
        below = 1.0 if rescaled and found.get("rescale_offset") else 0.0  # of EfficientNet: pixels from -1 to 1
        power = 2 if found.get("include_top") else 1  # of EfficientNet: divided by the standard deviation twice
        return NetworkInput(
            size=int(size) if size is not None and found.get("do_resize", True) else None,
            mean=tuple(float(m) + below for m in mean) if mean is not None else below,
            std=tuple(float(s) ** power for s in std) if std is not None else 1.0,
            channels=3,
            scale=None if math.isclose(scale, 1 / 255, rel_tol=1e-6) else scale,
        )
    except (ValueError, TypeError, KeyError, AttributeError, OSError) as error:
        raise CorruptDataError(
            f"{path} does not say how images are scaled (image_mean, image_std, one size, no flip of channels); say it "
            "with input = { size = ..., mean = ..., std = ... }"
        ) from error


def _numbers(value: float | tuple[float, ...] | None, usual: float) -> tuple[float, ...]:
    if value is None:
        return (usual,)
    return tuple(map(float, value)) if isinstance(value, tuple) else (float(value),)
