"""Preprocessing of a network's inputs: image size, channels, and the scaling used in its training."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, get_args

import numpy as np
from jaxtyping import Float

from transferscope.errors import CorruptDataError, SettingsError, out_of_range, unknown_name
from transferscope.models.fields import refusal_of
from transferscope.records import Says

_LARGEST = 8192  # pixels on a side

Fit = Literal["stretch", "crop", "keep", "none"]
"""Conversion of non-square images to the input size; the first two are equal for square images."""


@dataclass(frozen=True, slots=True)
class NetworkInput:
    """The preprocessing of a network's inputs.

    A byte b is read as (scale * b - mean) / std. Floating-point images are b / 255, from 0 to 1.

    With none of `mean`, `std` and `scale` the scaling is unknown, and inputs are standardised by the training examples
    of their own data.

    Raises:
        SettingsError: A number is out of its range.

    Example:
        >>> NetworkInput(size=224, mean=127, std=128, scale=1).per_unit[0].round(3)
        array([0.498], dtype=float32)
    """

    size: Annotated[
        int | None,
        Says("Height and width in pixels that images are resized to, at least 1", "None for those that they have."),
    ] = None
    mean: Annotated[
        float | tuple[float, ...] | None,
        Says("Subtracted from the scaled values, one number or one per channel", "None for 0."),
    ] = None
    std: Annotated[
        float | tuple[float, ...] | None,
        Says("What values are divided by afterwards, above 0, one number or one per channel", "None for 1."),
    ] = None
    channels: Annotated[
        int | None,
        Says(
            "1 or 3: images in colour become grey, or grey ones are repeated", "None for the channels that they have."
        ),
    ] = None
    scale: Annotated[float | None, Says("What bytes are multiplied with before, above 0", "None for 1/255.")] = None
    vocabulary: Annotated[
        int | None,
        Says(
            "For a network that reads texts, the number of tokens that it knows, at least 1",
            "The others are for images and vectors. None for a network that reads numbers.",
        ),
    ] = None
    resize: Annotated[
        int | None,
        Says(
            "Height and width in pixels that images are resized to before their middle of `size` is cut out, at "
            "least `size`",
            "None for `size` itself.",
        ),
    ] = None
    resample: Annotated[
        str | None, Says("Interpolation of that, one of `RESAMPLES`, as in Pillow", "None for bilinear, rounded once.")
    ] = None
    centre: Annotated[
        Literal["down", "even"] | None,
        Says(
            'How half of an odd rest is rounded where the middle is cut out: "down" as by transformers, to an "even" '
            "number as by torchvision and timm",
            'None for "down".',
        ),
    ] = None
    fit: Annotated[
        Fit | None,
        Says(
            'What becomes of images that are not square: "stretch" both sides, "crop" the middle after their short '
            'side is resized, "keep" their proportions, "none" to resize none',
            'None for "stretch".',
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.size is not None and not 1 <= self.size <= _LARGEST:
            raise out_of_range("size", self.size, f"pixels from 1 to {_LARGEST}")
        if self.resize is not None and not (self.size is not None and self.size <= self.resize <= _LARGEST):
            raise out_of_range("resize", self.resize, f"pixels from size = {self.size} to {_LARGEST}")
        for what, name, known in (
            ("interpolation (resample)", self.resample, RESAMPLES),
            ("way to the size of a network (fit)", self.fit, get_args(Fit)),
            ("rounding of half a rest (centre)", self.centre, ("down", "even")),
        ):
            if name is not None and name not in known:
                raise unknown_name(what, name, list(known))
        if self.vocabulary is not None:
            others = (self.size, self.mean, self.std, self.channels, self.scale)
            if self.vocabulary < 1 or any(other is not None for other in others):
                raise SettingsError(
                    "the input of a text network has a vocabulary of at least 1 token, and no size or scaling"
                )
        if self.channels not in (None, 1, 3):
            raise out_of_range("channels", self.channels, "1 (grey) or 3 (colour)")
        mean, std = self._mean_and_std
        if not all(map(math.isfinite, (*mean, *std))) or min(std, default=0.0) <= 0 or not mean:
            raise SettingsError(
                f"mean = {self.mean} and std = {self.std}; expected one number each, or one per channel, with each std "
                "above 0"
            )
        if self.scale is not None and not 0 < self.scale < math.inf:
            raise out_of_range("scale", self.scale, "a number above 0, as in 1 or 0.00392")
        lengths = {len(numbers) for numbers in (mean, std) if len(numbers) > 1}
        if len(lengths) > 1 or (lengths and self.channels is not None and lengths != {self.channels}):
            of_channels = "" if self.channels is None else f" and channels = {self.channels}"
            raise SettingsError(
                f"mean has {len(mean)} and std {len(std)} numbers{of_channels}; expected one each, or one per channel"
            )

    @property
    def _mean_and_std(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        given = (0.0 if self.mean is None else self.mean, 1.0 if self.std is None else self.std)
        mean, std = (tuple(map(float, one)) if isinstance(one, tuple) else (float(one),) for one in given)
        return mean, std

    @property
    def is_scaled(self) -> bool:
        """Whether the scaling is known; tokens have none."""
        return any(value is not None for value in (self.mean, self.std, self.scale, self.vocabulary))

    @property
    def per_unit(self) -> tuple[Float[np.ndarray, " C"], Float[np.ndarray, " C"]]:
        """Mean and standard deviation of values in 0..1, in float32."""
        unit = 255.0 * (1 / 255 if self.scale is None else self.scale)
        mean, std = map(np.array, self._mean_and_std)
        n = max(len(mean), len(std))
        return tuple(np.broadcast_to(v / unit, n).astype(np.float32) for v in (mean, std))  # type: ignore[return-value]

    @property
    def transforms(self) -> tuple[str, ...]:
        """The transforms that convert images to the size and channels, by their names in data settings."""
        channels = {None: (), 1: ("grey",), 3: ("colour",)}[self.channels]
        if self.size is None or self.fit == "none":
            return channels
        side = self.size if self.resize is None else self.resize
        resized = f"{side}{'' if self.resample is None else f':{self.resample}'}"
        if self.fit == "keep":
            return (*channels, f"short-side:{resized}")
        rounding = ":even" if self.centre == "even" and (self.fit == "crop" or (side - self.size) % 2) else ""
        cut = () if side == self.size and self.fit != "crop" else (f"crop:{self.size}{rounding}",)
        return (*channels, f"{'short-side' if self.fit == 'crop' else 'resize'}:{resized}", *cut)

    def reads(self, height: int, width: int) -> bool:
        """Return whether images of these sides have the network's size."""
        is_fitting = self.fit == "keep" or height == width
        return self.size is None or (self.size == min(height, width) and is_fitting)

    def over(self, known: "NetworkInput | None") -> "NetworkInput":
        """Return these settings, completed by known ones; mean, std and scale are taken together."""
        if known is None:
            return self
        if known.vocabulary is not None and (self.size, self.channels, self.is_scaled) != (None, None, False):
            raise SettingsError("the network reads texts, which have neither size nor scaling; leave input out")
        scaling = self if self.is_scaled else known
        return NetworkInput(
            known.size if self.size is None else self.size,
            scaling.mean,
            scaling.std,
            known.channels if self.channels is None else self.channels,
            scaling.scale,
            self.vocabulary if known.vocabulary is None else known.vocabulary,
            known.resize if self.size is None and self.resize is None else self.resize,
            known.resample if self.resample is None else self.resample,
            centre=known.centre if self.centre is None else self.centre,
            fit=known.fit if self.size is None and self.fit is None else self.fit,
        )

    def __str__(self) -> str:
        """Return the preprocessing as text: "64 x 64 pixels, 3 channels, (1 * byte - 127) / 128"."""
        if self.vocabulary is not None:
            return f"texts of {self.vocabulary:,} tokens"
        parts = [] if self.size is None else [f"{self.size} x {self.size} pixels"]
        if self.resize not in (None, self.size):
            parts = [f"the middle {self.size} x {self.size} of {self.resize} x {self.resize} pixels"]
        if self.size is not None and self.fit in ("crop", "keep"):
            side = self.size if self.resize is None else self.resize
            cut = "proportions kept" if self.fit == "keep" else f"the middle {self.size} x {self.size}"
            parts = [f"short side to {side} pixels, {cut}"]
        parts += [] if self.resample in (None, "bilinear") else [str(self.resample)]
        parts += {None: [], 1: ["grey"], 3: ["3 channels"]}[self.channels]
        if not self.is_scaled:
            return ", ".join([*parts, "standardised by the training examples"])
        mean, std = ("/".join(f"{number:g}" for number in numbers) for numbers in self._mean_and_std)
        scale = "byte / 255" if self.scale is None else "byte" if self.scale == 1 else f"{self.scale:g} * byte"
        return ", ".join([*parts, f"({scale} - {mean}) / {std}"])


RESAMPLES = ("bilinear", "bicubic", "lanczos")
"""Interpolations of images, as in `data.transforms`."""

_OF_PILLOW = {1: "lanczos", 2: "bilinear", 3: "bicubic"}


class _Processor(NamedTuple):
    """A transformers image processor that resizes, crops, rescales and normalises in this order.

    Attributes:
        resample: Default interpolation, as a number of Pillow.
        size: Default size.
        square: Whether one number for the size means both sides; otherwise the short one.
        cuts: Whether it crops the centre by default.
        crop: Default side of the crop.
    """

    resample: int
    size: Mapping[str, int]
    square: bool = True
    cuts: bool = False
    crop: int = 224


def _sides(side: int) -> dict[str, int]:
    return {"height": side, "width": side}


_CLIP = _Processor(3, {"shortest_edge": 224}, square=False, cuts=True)
_MOBILE = _Processor(2, {"shortest_edge": 256}, square=False, cuts=True)
_VIT, _PVT = _Processor(2, _sides(224)), _Processor(3, _sides(224))
_PLAIN = {
    **dict.fromkeys(("CLIP", "Bit", "ChineseCLIP"), _CLIP),
    **dict.fromkeys(("MobileNetV1", "MobileNetV2"), _MOBILE),
    **dict.fromkeys(("Beit", "Pvt"), _PVT),
    "ViT": _VIT,
    "DeiT": _Processor(3, _sides(256), cuts=True),
    "Siglip": _PVT._replace(square=False),
    "ConvNext": _Processor(3, {"shortest_edge": 384}, square=False),
    "EfficientNet": _Processor(3, _sides(346), crop=289),
    "Blip": _Processor(3, _sides(384)),
    "Segformer": _Processor(2, _sides(512)),
}


def read_image_processor(folder: Path) -> NetworkInput | None:
    """Read the preprocessing from a folder's `preprocessor_config.json` (of a transformers image processor).

    Args:
        folder: Folder written by `save_pretrained`; without that file, the image settings in `processor_config.json`
            are used.

    Returns:
        Size, scaling, interpolation and three channels; None when there is no such file.

    Raises:
        CorruptDataError: The file is not for an image processor, or has settings that `NetworkInput` does not support:
        non-square images, another channel order, an unknown field.
    """
    path = folder / "preprocessor_config.json"
    if not path.is_file() and not (path := folder / "processor_config.json").is_file():
        return None
    try:
        processor = json.loads(path.read_text(encoding="utf-8"))
        if path.name == "processor_config.json":
            if not isinstance(processor.get("image_processor"), dict):
                return None
            processor = processor["image_processor"]
        refusal = refusal_of("preprocessor_config.json", processor)
        if refusal is not None:
            raise ValueError(f"it {refusal}")
        named = processor.get("image_processor_type") or processor.get("feature_extractor_type")
        kind = re.sub(r"(ImageProcessor|FeatureExtractor)(Fast|Pil)?$", "", str(named or "ViT"))
        if kind not in _PLAIN:
            raise ValueError(f"image processor {kind} is unknown")
        usual = _PLAIN[kind]
        cut = processor.get("do_center_crop", named is not None and usual.cuts) and kind != "Segformer"
        fit: Fit = "none"
        size = resize = resample = None
        if processor.get("do_resize", True):
            given = processor.get("size", usual.size)
            if named is None and not isinstance(given, Mapping):
                raise ValueError(f"size {given!r} without image_processor_type")
            resize, stretches = _side(given, processor.get("default_to_square", usual.square))
            fit = "stretch" if stretches else "keep"
            size, resample = resize, _OF_PILLOW[processor.get("resample", usual.resample)]
        if kind == "ConvNext" and size is not None:
            if cut or fit != "keep":
                raise ValueError("a crop or a resize that is not by the short side")
            resize, fit = (size, "stretch") if size >= 384 else (int(size / processor.get("crop_pct", 0.875)), "crop")
        elif cut:
            middle, is_square = _side(processor.get("crop_size", usual.crop), True)
            if resize is None or middle > resize or not is_square:
                raise ValueError("a crop that is not smaller than the image")
            size, fit = middle, "stretch" if fit == "stretch" else "crop"
        normalised = processor.get("do_normalize", True)
        rescaled = processor.get("do_rescale", True)
        scale = float(processor.get("rescale_factor", 1 / 255)) if rescaled else 1.0
        mean, std = (processor.get(name) for name in ("image_mean", "image_std"))
        again = kind == "EfficientNet" and processor.get("include_top", True)  # divided by the deviation once more
        if (normalised and mean is None) or ((normalised or again) and std is None):
            raise KeyError("image_mean")
        below = 1.0 if kind == "EfficientNet" and rescaled and processor.get("rescale_offset") else 0.0  # from -1 to 1
        power = bool(normalised) + bool(again)
        return NetworkInput(
            size=size,
            mean=tuple(float(m) + below for m in mean) if normalised else below,
            std=tuple(float(s) ** power for s in std) if power else 1.0,
            channels=3,
            scale=None if math.isclose(scale, 1 / 255, rel_tol=1e-6) else scale,
            resize=None if resize == size else resize,
            resample=resample,
            fit=None if fit == "stretch" else fit,
        )
    except (ValueError, TypeError, KeyError, AttributeError, OSError, ArithmeticError, RecursionError) as error:
        reason = (str(error).strip().splitlines() or [""])[0]
        reason += " is missing or not known" if isinstance(error, KeyError) else ""
        raise CorruptDataError(
            f"{path} has image scaling that is not supported ({reason}); give input = {{ size = ..., mean = ..., std "
            f"= ... }}"
        ) from error


def _side(size: object, square: object) -> tuple[int, bool]:
    """Return a side in pixels from an image processor, and whether it is both sides of a square or the short one."""
    if isinstance(size, list) and len(size) == 2:
        size = {"height": size[0], "width": size[1]}
    if isinstance(size, Mapping):
        sides = {key: value for key, value in size.items() if value is not None}
        if sides.keys() not in ({"height", "width"}, {"shortest_edge"}) or len(set(sides.values())) > 1:
            raise ValueError(f"images that are not square: {dict(size)}")
        size, square = next(iter(sides.values())), "height" in sides
    if not isinstance(size, int) or isinstance(size, bool):
        raise ValueError(f"the size {size!r}")
    return size, bool(square)
