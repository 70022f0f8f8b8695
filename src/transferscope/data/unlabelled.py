"""Inputs for prediction: images, arrays and tables without labels, read like the data of a study."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Num

from transferscope.data.arrays import ChannelAxis, to_inputs
from transferscope.data.frame import SUFFIXES
from transferscope.data.image_folder import is_image_file, read_images_below
from transferscope.data.input_form import InputForm
from transferscope.data.load import load, parse_name
from transferscope.data.npz import LEFT_OUT, read_array
from transferscope.data.places import find_path
from transferscope.data.readers import READERS
from transferscope.data.readers.images import image_form
from transferscope.data.readers.tables import table_encoding, table_form
from transferscope.data.spec import TABLES, DataSpec, parse_spec, with_option
from transferscope.data.tables import read_features
from transferscope.data.task import Dataset, LabelledSet
from transferscope.data.texts import read_texts, text_settings, tokenizer_of
from transferscope.data.transforms import TRANSFORMS, apply_transforms
from transferscope.errors import DataError
from transferscope.wording import few

_OF_IMAGES = ("folder", "hf-dataset")
"""Kinds of names whose images may be resized."""


@dataclass(frozen=True)
class Unlabelled:
    """Inputs without labels, before scaling.

    Attributes:
        inputs: Shape (N, *input_shape), as in a `LabelledSet`.
        names: A name for each: the path of an image within its folder, or the number of a row, from 0.
        remarks: Notes on how a table was read, and on values that no training row has.
    """

    inputs: Num[np.ndarray, "N ..."]
    names: tuple[str, ...]
    remarks: tuple[str, ...] = ()


def read_unlabelled(spec: str, form: InputForm) -> Unlabelled:
    """Read inputs by data name; labels are ignored.

    Args:
        spec: "folder:PATH" or the path of a folder: every image in it and below; the path of one image; "npz:PATH" with
            the array `x` or `x_test`; "csv:PATH" or "parquet:PATH" with the columns of the study's table, in any
            order; "text:PATH", read by the study's tokenizer, with its columns or those of
            "?text=COLUMN&pair=COLUMN"; any other name that `load` accepts, for its test examples. A bare
            path is a folder of images, one image, or a file of the kind that the study had.
        form: Input form of the study; images of a folder are resized as in the study.

    Raises:
        MissingDataError: There is no such file or folder.
        CorruptDataError: A file cannot be read.
        DataError: The inputs are not of the study's shape or columns.
        SettingsError: The name is invalid.
    """
    parsed = parse_name(_with_kind(spec, form))
    names: Sequence[str] | None = None
    remarks: tuple[str, ...] = ()
    if parsed.kind == "folder":
        parsed.allow(("resize", "size", "broken"))
        asked, own = image_form(parsed), parse_name(form.data)
        if own.kind in _OF_IMAGES and not (asked.resize or asked.size):
            asked = replace(image_form(own), skip_broken=asked.skip_broken, convert=asked.convert)
        channels = form.raw_shape[0] if len(form.raw_shape) == 3 and form.raw_shape[0] in (1, 3) else None
        # without `size`, all images of the study had one size, and these must have it, too
        as_study = replace(asked, channels=channels, automatic=False)
        raw, names = read_images_below(find_path(parsed.path), form=as_study)
    elif parsed.kind == "npz":
        parsed.allow(("channels",))
        own = parse_name(form.data)
        of_study: ChannelAxis | None = own.choice("channels", ("first", "last")) if own.kind == "npz" else None
        array = read_array(find_path(parsed.path), ("x", "x_test"))
        raw = to_inputs(array, name=spec, channels=parsed.choice("channels", ("first", "last")) or of_study)
    elif parsed.kind in TABLES:
        parsed.allow(())
        raw, names, remarks = read_features(find_path(parsed.path), form.encoding, form=table_form(parsed))
    elif parsed.kind == "text":
        raw = _texts(parsed, form)
    else:
        raw = load(parsed.text).test.inputs
    inputs = as_in_study(raw, form, name=spec)
    remarks = (*remarks, *far_from_training(inputs, form))
    return Unlabelled(inputs, tuple(names or map(str, range(len(raw)))), remarks)


_FAR = 3.0
"""Distance from the training range, in widths of it, beyond which a number is reported."""


def far_from_training(inputs: Num[np.ndarray, "N ..."], form: InputForm) -> tuple[str, ...]:
    """Describe numbers far outside the training range in one sentence; empty if there are none.

    A number is far if its distance from the training range of its feature is more than 3 times the width of the range.

    Args:
        inputs: From `as_in_study`.
    """
    if not form.ranges or inputs.ndim != 2:
        return ()
    low, high = np.array(form.ranges, dtype=np.float64).T
    far = (inputs < low - _FAR * (high - low)) | (inputs > high + _FAR * (high - low))
    if not far.any():
        return ()
    columns = np.flatnonzero(far.any(axis=0))
    first = int(columns[0])
    names = [form.columns[k] if form.columns else f"feature {k}" for k in columns]
    worst = inputs[far[:, first], first][0]
    return (
        f"{far.any(axis=1).sum():,} of {len(inputs):,} rows hold numbers far from all training examples, in "
        f"{few(names)} ({worst:g}; training: {low[first]:g} to {high[first]:g}); predictions there are extrapolations, "
        "or the unit is another",
    )


def _with_kind(spec: str, form: InputForm) -> str:
    """Return the name with its kind if it is the path of a folder or a file, also if a data set has the same name."""
    if ":" in spec or not Path(spec).exists():
        return spec
    if Path(spec).is_dir() or is_image_file(Path(spec)):
        return f"folder:{spec}"
    if Path(spec).suffix == ".npz":
        return f"npz:{spec}"
    own = parse_name(form.data)
    of_table = SUFFIXES.keys() & {suffix.lower() for suffix in Path(spec).suffixes}
    if own.path and (Path(own.path).suffix == Path(spec).suffix or not of_table):  # the suffix implies no other kind
        if own.kind in TABLES:
            return f"{own.kind}:{spec}"
        if own.kind not in READERS:  # a plugin's kind
            _, _, query = form.data.partition("?")
            function = own.path.partition(":")[0] if ":" in own.path else ""
            return f"{':'.join(filter(None, (own.kind, function, spec)))}{f'?{query}' if query else ''}"
    return f"text:{spec}" if _are_texts(parse_spec(form.data)) else f"table:{spec}"


def _are_texts(spec: DataSpec) -> bool:
    return spec.kind == "text" or (spec.kind == "hf-dataset" and "text" in spec.options)


def _texts(spec: DataSpec, form: InputForm) -> Num[np.ndarray, "N ..."]:
    """Return texts with the study's tokenizer and length, with columns named as in the study."""
    spec.allow(("text", "pair", "header"))
    own = parse_spec(form.data)
    if not _are_texts(own):
        raise DataError(f"{spec.text} is texts, but the network was trained on {form.data}; give such data")
    options = {**own.options, **spec.options}
    settings = replace(text_settings(DataSpec(spec.text, "text", spec.path, options)), label=None)
    return read_texts(find_path(spec.path), settings, tokenizer_of(own))


def as_in_study(raw: Num[np.ndarray, "N ..."], form: InputForm, *, name: str) -> Num[np.ndarray, "N ..."]:
    """Return inputs after the transforms of the study.

    Args:
        raw: Shape (N, *raw_shape).

    Raises:
        DataError: The shape differs; images may have another size if the study resizes them. Or the study subtracts an
            offset from a feature, and these inputs lack that.
    """
    if form.left_out and raw.ndim == 2 and raw.shape[1] == form.raw_shape[0] + len(form.left_out):
        raw = np.delete(raw, form.left_out, axis=1)
    if raw.shape[1:] != form.raw_shape and not _differs_in_size_alone(raw.shape[1:], form):
        raise DataError(
            f"{name}: inputs have shape {raw.shape[1:]}; expected {form.raw_shape}, as in the network's training "
            f"({form.data})"
        )
    offsets = np.array(form.encoding.offsets if form.encoding is not None else ())
    if raw.ndim == 2 and len(raw) and offsets.any():
        whole = np.flatnonzero((offsets != 0) & (np.abs(np.median(raw, axis=0) - offsets) < np.abs(offsets) / 100))
        if len(whole):
            raise DataError(
                f"{name}: feature {whole[0]} (counted from 0) is {raw[0, whole[0]]:.15g} in the first row, but the "
                f"network expects {form.columns[whole[0]]!r}: subtract {offsets[whole[0]]:.15g} in 64 bits, or give "
                "the table"
            )
    given = LabelledSet(raw, np.zeros(len(raw), dtype=np.int64), ("",))
    changes = [one for one in form.transforms if not TRANSFORMS[one.partition(":")[0]].of_labels]
    # no transform of inputs learns from training examples, so one is enough
    inputs = apply_transforms(Dataset(name, given.take(np.array([0])), given), changes, seed=0).test.inputs
    if inputs.shape[1:] != form.input_shape:
        raise DataError(
            f"{name}: inputs have shape {inputs.shape[1:]} after {', '.join(changes)}; expected {form.input_shape}, "
            "as in the network's training"
        )
    return inputs


def _differs_in_size_alone(shape: tuple[int, ...], form: InputForm) -> bool:
    """Return whether these are images of another size that the transforms of the study resize.

    Crops, borders and permutations depend on the size, so resizing must come first.
    """
    named = (one.partition(":")[0] for one in form.transforms)
    of_size = [name for name in named if name in ("resize", "short-side", "crop", "pad", "permuted")]
    is_image = len(shape) == len(form.raw_shape) == 3 and shape[0] == form.raw_shape[0]
    return is_image and of_size[:1] in (["resize"], ["short-side"])


def input_form(data: str, transforms: tuple[str, ...], dataset: Dataset) -> InputForm:
    """Return the input form of a study's data; raises TransferscopeError if they cannot be read any more."""
    parsed = parse_name(data)
    pinned = data
    if parsed.kind in _OF_IMAGES and "size" in dataset.provenance:
        pinned = with_option(data, f"size={dataset.provenance['size']}")
    encoding = table_encoding(parsed, 0) if parsed.kind in TABLES else None
    columns = () if encoding is None else encoding.features
    shape = dataset.train.input_shape
    left_out = tuple(json.loads(dataset.provenance.get(LEFT_OUT, "[]")))
    train = dataset.train.inputs
    of_vectors = (train.min(axis=0).tolist(), train.max(axis=0).tolist()) if train.ndim == 2 else ((), ())
    ranges = tuple((float(low), float(high)) for low, high in zip(*of_vectors, strict=True))
    form = InputForm(pinned, transforms, shape, shape, columns, encoding, left_out, ranges)
    return form if not transforms else replace(form, raw_shape=load(data).train.input_shape)
