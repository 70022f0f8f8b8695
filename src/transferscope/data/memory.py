"""Data in memory, written to files so that checks and encodings are those of files.

Arrays become an .npz file, data frames a csv file, texts JSON lines, and data sets of the package datasets are saved
with it. A study reads its data in several processes, maybe days later, so they must be in files anyway.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from numbers import Real
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from transferscope.data.arrays import kind_of_numbers
from transferscope.data.split_names import split_names
from transferscope.data.task import Dataset, LabelledSet
from transferscope.errors import DataError, SettingsError, out_of_range, refuse_unused, wrong_shape
from transferscope.files import written_whole
from transferscope.wording import few, slug

Data: TypeAlias = Any
"""Data by name, a `Dataset`, or data in memory: `(X, y)` and `(X, y, X_test, y_test)` of arrays, lists, frames or
texts; a `pandas.DataFrame` with its label column; a bunch of scikit-learn; a map-style data set of torch; or a data set
of the package datasets."""

Task = Literal["classification", "regression", "multi-label"]

_LABEL, _TEXT = "label", "text"
_ROLE_DIGITS = 16
_TASKS = "say which with task='regression' or task='classification'"


@dataclass(frozen=True, slots=True)
class InMemory:
    """Settings for reading data in memory.

    Attributes:
        label: The label column of data frames and of data sets of the package datasets; None for "label".
        task: Kind of the labels; None to infer it from their type: integers, text and booleans are classes,
            floating-point numbers a regression, and booleans (N, n_labels) several labels of each input.
        test_share: Share of a seeded, stratified test set for data without a test part; None for .2.
        group: Groups of target examples, such as patients: a column of frames and of data sets of the package datasets,
            or a value per example, as `groups` in scikit-learn. No group is in both training and test. None for none.
        time: Times of target examples, in the same form: the test part is later. None for none.

    Raises:
        SettingsError: The share is not between 0 and 1.
    """

    label: str | None = None
    task: Task | None = None
    test_share: float | None = None
    group: Any = None
    time: Any = None

    def __post_init__(self) -> None:
        if self.test_share is not None and not 0 < self.test_share < 1:
            raise out_of_range("test_share", self.test_share, "a number between 0 and 1, as in 0.2")

    def check_used(self, data: Iterable[object]) -> None:
        """Refuse, with a SettingsError, settings that apply to none of the data."""
        held = [one for one in data if is_data(one) and not isinstance(one, str | Path | Dataset)]
        tables = [one for one in held if isinstance(one, pd.DataFrame) or _is_saved_by_datasets(one)]
        whole = [one for one in held if not (isinstance(one, tuple) and len(one) == 4)]
        apart = {name: one is not None and not held for name, one in (("group", self.group), ("time", self.time))}
        unused = {**apart, "label": self.label is not None and not tables, "task": self.task is not None and not held}
        refuse_unused(
            {**unused, "test_share": self.test_share is not None and not whole},
            "no data in memory need it (a name says it by its options)",
        )


AS_TYPED = InMemory()
"""Data in memory, read by their types."""

DATA_WORDS = (
    "data: a name such as 'csv:FILE?label=COLUMN', (X, y) or (X, y, X_test, y_test) of arrays, frames or texts, a data "
    "frame with label=COLUMN, a Dataset, or a data set of torch, scikit-learn or datasets"
)


def is_data(given: object) -> bool:
    """Return whether something is data, by name or in memory, rather than one or several networks."""
    if isinstance(given, str | Path | Dataset | pd.DataFrame):
        return True
    if isinstance(given, tuple):
        first = given[0] if len(given) in (2, 4) else None
        return isinstance(first, list | pd.DataFrame | pd.Series) or _is_array(first)
    return _is_bunch(given) or _is_saved_by_datasets(given) or _is_torch_data(given)


def write_in_memory(data: Data, folder: Path, role: str, reading: InMemory) -> str:
    """Write data in memory to a folder, and return their name, relative to it.

    Existing files are not written again: their names contain role and content.

    Args:
        data: A `Dataset` or data in memory; see `Data`.
        folder: Output folder, created if missing.
        role: Name in messages and tables: "target" or "source".

    Raises:
        DataError: Lengths differ, a type is not supported, or labels are missing.
        SettingsError: The label column is not named, or a setting does not apply to the data.
    """
    folder.mkdir(parents=True, exist_ok=True)
    kept_from: list[str] = []
    if role != "target":  # the test part of a source is not used
        kept_from = [one for one in (reading.group, reading.time) if isinstance(one, str)]
        reading = replace(reading, group=None, time=None)
    if isinstance(data, Dataset):
        return _of_dataset(data, folder)
    if _is_saved_by_datasets(data):
        return _of_datasets(data, folder, role, reading)
    if isinstance(data, pd.DataFrame):
        return _of_frames([data], folder, role, reading, kept_from)
    if _is_bunch(data):
        return _of_arrays(_from_bunch(data), folder, role, reading)
    if _is_torch_data(data):
        return _of_arrays(_from_torch(data, role), folder, role, reading)
    return _of_arrays(data, folder, role, reading)


def write_inputs(inputs: Any, folder: Path) -> str | None:
    """Write a table or texts in memory without labels, and return their name; None for arrays.

    Raises:
        DataError: A text or a column has an unsupported type.
    """
    if isinstance(inputs, pd.DataFrame):
        for name in inputs.columns:
            _check_column(inputs[name], "the inputs")
        return f"csv:{folder / _text_file(_as_csv(inputs), folder, 'inputs', '.csv')}"
    return f"text:{folder / _lines([inputs], folder, 'inputs')[0]}?text={_TEXT}" if _are_texts(inputs) else None


def _of_dataset(data: Dataset, folder: Path) -> str:
    if data.train.is_tokens:
        raise SettingsError(
            f"{data.name} is tokenised; give texts, as (texts, labels), or by name, as in "
            "'text:PATH?text=COLUMN&label=COLUMN'"
        )
    several = data.train.kind in ("multi-label", "segmentation") and data.train.classes is not None
    arrays: dict[str, Any] = {"label_names": np.array(data.train.classes)} if several else {}
    arrays |= {"x_train": data.train.inputs, "y_train": _labels(data.train)}
    arrays |= {"x_test": data.test.inputs, "y_test": _labels(data.test)}
    groups = data.train.groups is not None and data.test.groups is not None
    arrays |= {"group_train": data.train.groups, "group_test": data.test.groups} if groups else {}
    return f"npz:{_npz(arrays, folder, f'{slug(data.name)}-{data.fingerprint}')}{'?group=group' if groups else ''}"


def _labels(examples: LabelledSet) -> np.ndarray:
    if examples.kind != "classification":
        return examples.labels
    named: np.ndarray = np.asarray(examples.classes)[examples.labels]
    return named


def _npz(arrays: Mapping[str, np.ndarray], folder: Path, stem: str) -> str:
    path = folder / f"{stem}.npz"
    if not path.exists():
        with written_whole(path) as unfinished:
            np.savez(unfinished, **arrays)  # type: ignore[arg-type]
    return path.name


def _of_arrays(data: Sequence[Any], folder: Path, role: str, reading: InMemory) -> str:
    """Write inputs and labels of one or two parts: frames as a table, texts as JSON lines, others as arrays."""
    parts = list(zip(data[::2], data[1::2], strict=True))
    if len(parts) == 2:
        reading = replace(reading, test_share=None)
    for (x, y), of in zip(parts, ("", " test"), strict=False):
        _check_plain(x, f"the inputs of the {role}")
        if not hasattr(y, "__len__") or len(x) != len(y):
            count = len(y) if hasattr(y, "__len__") else "no"
            raise DataError(
                f"the {role} has {len(x)}{of} inputs and {count} labels; expected one label per input, as (X, y)"
            )
        if not len(x):
            raise DataError(f"the {role} has no{of} inputs; expected at least one example")
    marks = _marks(reading, len(parts[0][0]), len(parts), role)
    group, time = (
        mark if mark in marks else given for mark, given in (("group", reading.group), ("time", reading.time))
    )
    marked = replace(reading, group=group, time=time)
    if any(isinstance(x, pd.DataFrame) for x, _ in parts):
        frames = [_joined(x, y, role) for x, y in parts]
        if taken := [mark for mark in marks if mark in frames[0].columns]:
            raise DataError(
                f"the inputs of the {role} have a column {taken[0]!r}, and {taken[0]} is given too; rename the column"
            )
        return _of_frames([one.assign(**marks) for one in frames], folder, role, replace(marked, label=_LABEL))
    ys = [as_array(y, f"the labels of the {role}") for _, y in parts]
    task = _checked_task(ys[0], f"the label of the {role}", reading.task)
    if all(_are_texts(x) for x, _ in parts):
        return _of_texts([x for x, _ in parts], ys, folder, role, replace(marked, task=task), marks)
    xs = [as_array(x, f"the inputs of the {role}") for x, _ in parts]
    keys = (("x", "y"),) if len(parts) == 1 else (("x_train", "y_train"), ("x_test", "y_test"))
    arrays = {
        key: one
        for pair, both in zip(keys, zip(xs, ys, strict=True), strict=True)
        for key, one in zip(pair, both, strict=True)
    }
    arrays |= marks
    content = [
        f"{key}{one.dtype.str}{one.shape}".encode() + np.ascontiguousarray(one).tobytes() for key, one in arrays.items()
    ]
    return _named("npz", _npz(arrays, folder, f"{role}-{_digest(*content)}"), marked, kind=task)


def _marks(reading: InMemory, n: int, n_parts: int, role: str) -> dict[str, np.ndarray]:
    """Return the values of group and time that are given as arrays rather than as columns of a frame."""
    marks: dict[str, np.ndarray] = {}
    for mark, given in (("group", reading.group), ("time", reading.time)):
        if given is None or isinstance(given, str):
            continue
        values = as_array(given, f"{mark} of the {role}")
        if n_parts > 1:
            raise SettingsError(f"{mark} splits off a test part, but the {role} has one; leave one out")
        if values.shape != (n,):
            raise wrong_shape(mark, values, f"one value per input, ({n},)")
        marks[mark] = values.astype("datetime64[s]").astype(np.float64) if values.dtype.kind == "M" else values
    return marks


def _of_texts(
    texts: Sequence[Any],
    labels: Sequence[np.ndarray],
    folder: Path,
    role: str,
    reading: InMemory,
    marks: Mapping[str, np.ndarray],
) -> str:
    columns = [{_LABEL: y.tolist()} for y in labels]
    columns[0] |= {mark: values.tolist() for mark, values in marks.items()}
    files = _lines(texts, folder, role, columns)
    return _named("text", files[0], reading, text=_TEXT, label=_LABEL, kind=reading.task, test=files[1:])


def _lines(
    texts: Sequence[Any], folder: Path, role: str, labels: Sequence[Mapping[str, list[Any]]] | None = None
) -> list[str]:
    """Write texts as JSON lines, one file per part."""
    files = []
    for some, columns in zip(texts, labels or [{}] * len(texts), strict=True):
        if not all(isinstance(one, str) for one in some):
            raise DataError(f"the inputs of the {role} contain text and {_other_than(some, str)}; expected only text")
        rows = (dict(zip((_TEXT, *columns), row, strict=True)) for row in zip(some, *columns.values(), strict=True))
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        files.append(_text_file("".join(lines), folder, role, ".jsonl"))
    return files


def _as_csv(frame: pd.DataFrame) -> str:
    return f"sep=,\n{frame.to_csv(index=False)}"


def _of_frames(
    frames: Sequence[pd.DataFrame], folder: Path, role: str, reading: InMemory, kept_from: Collection[str] = ()
) -> str:
    """Write a table, and one for the test part, as csv files that the reader of tables reads back unchanged.

    Args:
        kept_from: Columns that are not features, if present.
    """
    frames = [one.set_axis([str(name) for name in one.columns], axis=1) for one in frames]
    first, label = frames[0], reading.label or _LABEL
    if first.columns.has_duplicates:
        twice = first.columns[first.columns.duplicated()][0]
        raise DataError(f"the {role} has several columns {twice!r}; give each its own name")
    if label not in first.columns:
        lacks = f"no column {label!r}" if reading.label else "several columns and no label named"
        raise SettingsError(
            f"the {role} is a data frame with {lacks}; give label=COLUMN, one of {few(first.columns, 10)}"
        )
    for name in first.columns:
        _check_column(first[name], f"the {role}")
    categories = [
        name for name in first.columns if isinstance(first[name].dtype, pd.CategoricalDtype) and name != label
    ]
    drop = [name for name in kept_from if name in first.columns]
    held = first[label].dropna()
    numeric = pd.api.types.is_numeric_dtype(held) and not pd.api.types.is_bool_dtype(held)
    values = held.to_numpy() if numeric else held.astype(str).to_numpy(dtype=np.str_)
    task = _checked_task(values, f"column {label!r} of the {role}", reading.task)
    files = [_text_file(_as_csv(one), folder, role, ".csv") for one in frames]
    return _named("csv", files[0], reading, label=label, kind=task, category=categories, drop=drop, test=files[1:])


def _check_column(column: pd.Series, of: str) -> None:
    """Refuse, with a DataError, a column whose values cannot be restored from text."""
    strange = column.dtype.kind in "mc" or isinstance(column.dtype, pd.IntervalDtype | pd.PeriodDtype | pd.SparseDtype)
    known = (str, Real, np.bool_, Decimal, date)
    held = [one for one in column.dropna() if not isinstance(one, known)][:1] if column.dtype == object else []
    if strange or held:
        kind = type(held[0]).__name__ if held else str(column.dtype)
        raise DataError(
            f"column {str(column.name)!r} of {of} has values of type {kind}; expected numbers, text, booleans or "
            "dates: convert it, or leave it out"
        )


def _checked_task(labels: np.ndarray, what: str, task: Task | None) -> Task | None:
    """Return the given task, or the one that the type of labels implies; None if their shape decides it."""
    if task is not None:
        return task
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.dtype.kind in "US":
        return "classification"
    if labels.dtype.kind in "iuf" and labels.ndim == 1 and np.isfinite(labels).all():
        kind_of_numbers(labels, what=what, how=_TASKS)  # which refuses ambiguous labels
    return "classification" if labels.dtype.kind in "iub" and labels.ndim == 1 else None


def _joined(inputs: Any, labels: Any, role: str) -> pd.DataFrame:
    if not isinstance(inputs, pd.DataFrame):
        raise DataError(f"one part of the {role} is a data frame and the other is not; expected both or neither")
    if _LABEL in inputs.columns:
        raise DataError(
            f"the inputs of the {role} have a column {_LABEL!r}, and labels are given too; rename the column"
        )
    if isinstance(labels, pd.DataFrame):
        if labels.shape[1] != 1:
            raise DataError(
                f"the labels of the {role} are a data frame of {labels.shape[1]} columns; expected one, or arrays"
            )
        labels = labels.iloc[:, 0]
    if not isinstance(labels, pd.Series):
        array = as_array(labels, f"the labels of the {role}")
        if array.ndim != 1:
            raise wrong_shape(f"the labels of the {role}", array, "one per row of the data frame, (N,)")
        labels = pd.Series(array)
    return inputs.assign(**{_LABEL: labels.set_axis(inputs.index)})


def _of_datasets(data: Any, folder: Path, role: str, reading: InMemory) -> str:
    """Write a data set of the package datasets: in its own format, or as a table without images and texts."""
    splits = dict(data) if isinstance(data, Mapping) else {"": data}
    first = next(iter(splits.values()))
    label = reading.label or _LABEL
    if label not in first.column_names:
        raise SettingsError(
            f"the {role} has no column {label!r}; give label=COLUMN, one of {few(first.column_names, 10)}"
        )
    others = {name: feature for name, feature in first.features.items() if name != label}
    images = [name for name, feature in others.items() if type(feature).__name__ == "Image"]
    texts = [name for name, feature in others.items() if getattr(feature, "dtype", "") in ("string", "large_string")]
    if not images and len(others) != len(texts):
        named = split_names(splits, f"the {role}") if len(splits) > 1 else None
        parts = list(splits.values()) if named is None else [splits[named.train], splits[named.test]]
        if len(parts) != 1 + (named is not None):
            raise DataError(f"the {role} has the splits {', '.join(splits)}; expected train and test, or one split")
        frames = [_frame(one, label) for one in parts]
        return _of_frames(frames, folder, role, reading if named is None else replace(reading, test_share=None))
    if not images and len(texts) != 1:
        raise DataError(
            f"the {role} has {len(texts)} columns of text ({', '.join(texts)}); keep one, with remove_columns, or "
            "give a file by name for pairs"
        )
    marks = [f"{name}:{one.num_rows}:{one._fingerprint}:{one.features}" for name, one in splits.items()]
    saved = folder / f"{role}-{_digest(*(mark.encode() for mark in marks))}"
    if not saved.exists():
        with TemporaryDirectory(dir=folder, prefix=".saving-") as place:
            data.save_to_disk(str(Path(place) / "whole"))
            (Path(place) / "whole").replace(saved)
    text = {"text": texts[0]} if not images else {}
    return _named("hf-dataset", saved.name, reading, **text, label=label, kind=reading.task)


def _frame(data: Any, label: str) -> pd.DataFrame:
    """Return a split as a table, with its classes by name."""
    frame: pd.DataFrame = data.to_pandas()
    names = getattr(data.features[label], "names", None)
    return frame if names is None else frame.assign(**{label: frame[label].map(dict(enumerate(names)))})


def _named(what: str, place: str, reading: InMemory, /, **options: str | Collection[str] | None) -> str:
    """Return a data name with options, including the test share if there is no test part."""
    if reading.test_share is not None:
        options["test_share"] = f"{reading.test_share:g}"
    for key in ("group", "time"):
        if (column := getattr(reading, key)) is not None:
            if not isinstance(column, str):
                raise SettingsError(
                    f"{key} is an array, but the data have columns of their own; give the name of a column"
                )
            options[key] = column
    given = [(key, one) for key, held in options.items() for one in ([held] if isinstance(held, str) else held or ())]
    query = "&".join(f"{key}={one.replace('%', '%25').replace('&', '%26').replace('?', '%3F')}" for key, one in given)
    return f"{what}:{place}{'?' if query else ''}{query}"


def _digest(*content: bytes) -> str:
    digest = hashlib.sha256()
    for one in content:
        digest.update(one)
    return digest.hexdigest()[:_ROLE_DIGITS]


def _text_file(text: str, folder: Path, role: str, suffix: str) -> str:
    try:
        content = text.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"the {role} contains text that is not UTF-8 ({error.reason}); fix it") from error
    path = folder / f"{role}-{_digest(content)}{suffix}"
    if not path.exists():
        with written_whole(path) as unfinished:
            unfinished.write_bytes(content)
    return path.name


def _is_array(given: object) -> bool:
    return isinstance(given, np.ndarray) or (hasattr(given, "__array__") and hasattr(given, "shape"))


def _are_texts(given: Any) -> bool:
    """Return whether inputs are texts, by the first of them and by their type."""
    if isinstance(given, np.ndarray | pd.Series | pd.Index):
        return given.ndim == 1 and len(given) > 0 and isinstance(next(iter(given)), str)
    return isinstance(given, list | tuple) and len(given) > 0 and all(isinstance(one, str) for one in given)


def _check_plain(given: object, what: str) -> None:
    """Refuse, with a DataError, sparse matrices and masked arrays, which NumPy would convert wrongly."""
    if isinstance(given, np.ma.MaskedArray) or hasattr(given, "toarray"):
        how = "fill its gaps, as of .filled()" if isinstance(given, np.ma.MaskedArray) else "give X.toarray()"
        raise DataError(f"{what} are a {type(given).__name__}; expected a plain array: {how}")


def as_array(given: Any, what: str) -> np.ndarray:
    """Return numbers or text as one array; raises DataError for objects, mixtures, gaps and lossy conversions."""
    _check_plain(given, what)
    mode = getattr(given, "mode", None)
    if isinstance(mode, str) and mode not in ("1", "L", "RGB", "RGBA"):
        raise DataError(f"{what} is an image of mode {mode}; expected L or RGB, as from .convert('RGB')")
    if hasattr(given, "detach"):
        given = given.detach().cpu()
    if isinstance(given, list | tuple) and any(hasattr(one, "detach") for one in given[:1]):
        given = [one.detach().cpu().numpy() for one in given]
    if isinstance(given, list | tuple) and len({isinstance(one, str) for one in given}) > 1:
        raise DataError(f"{what} contain text and {_other_than(given, str)}; expected only numbers or only text")
    try:
        array = np.asarray(given)
    except ValueError as error:
        raise DataError(f"{what} have different shapes; expected one shape for all examples") from error
    except (TypeError, RuntimeError) as error:
        raise DataError(f"{what} are a {type(given).__name__} ({error}); expected a NumPy array") from error
    if array.dtype != object:
        return array
    held = array.ravel().tolist()
    missing = sum(1 for one in held if one is None or one is pd.NA or one is pd.NaT or one != one)
    if missing:
        raise DataError(f"{what} are missing (None or NaN) in {missing} of {len(held)} places; drop those examples")
    if all(isinstance(one, str) for one in held):
        return array.astype(np.str_)
    if all(isinstance(one, bool | np.bool_) for one in held):
        return array.astype(np.bool_)
    if all(isinstance(one, int | float | np.number) and not isinstance(one, bool) for one in held):
        whole = all(isinstance(one, int | np.integer) for one in held)
        return array.astype(np.int64 if whole else np.float64)
    raise DataError(f"{what} are an array of objects, such as {_other_than(held, str)}; expected numbers or text")


def _other_than(held: Iterable[object], kind: type) -> str:
    strange = next((one for one in held if not isinstance(one, kind)), None)
    return f"the {type(strange).__name__} {str(strange)[:40]!r}"


def _is_bunch(given: object) -> bool:
    return isinstance(given, Mapping) and {"data", "target"} <= given.keys()


def _from_bunch(bunch: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return inputs and labels of a scikit-learn bunch; integers become its class names."""
    labels, names = bunch["target"], bunch.get("target_names")
    codes = np.asarray(labels)
    is_code = codes.ndim == 1 and codes.dtype.kind in "iu" and codes.size > 0 and codes.min() >= 0
    if is_code and names is not None and len(names) == codes.max() + 1:
        labels = np.asarray(names)[codes]
    return bunch["data"], labels


def _is_saved_by_datasets(given: object) -> bool:
    """Return whether something is a data set, or several splits of one, of the optional package datasets."""
    if isinstance(given, Mapping):
        return bool(given) and hasattr(given, "save_to_disk") and all(map(_is_saved_by_datasets, given.values()))
    return all(hasattr(given, name) for name in ("column_names", "features", "save_to_disk", "to_pandas"))


def _is_torch_data(given: object) -> bool:
    """Return whether something is, or looks like, a map-style data set of torch."""
    plain = isinstance(given, str | bytes | Mapping | list | tuple | np.ndarray | pd.Series)
    sized = hasattr(given, "__getitem__") and hasattr(given, "__len__")
    return sized and not plain and not _is_array(given) and not hasattr(given, "state_dict")


def _from_torch(data: Any, role: str) -> tuple[np.ndarray, np.ndarray]:
    """Return all examples of a map-style data set of torch: pairs of an input and a label."""
    inputs: list[np.ndarray] = []
    labels: list[np.ndarray] = []
    for place in range(len(data)):
        example = data[place]
        if not isinstance(example, tuple | list) or len(example) != 2:
            raise DataError(f"example {place} of the {role} is a {type(example).__name__}; expected (input, label)")
        for one, held in zip(example, (inputs, labels), strict=True):
            held.append(as_array(one, f"example {place} of the {role}"))
    return _stacked(inputs, f"the inputs of the {role}"), _stacked(labels, f"the labels of the {role}")


def _stacked(arrays: Sequence[np.ndarray], what: str) -> np.ndarray:
    if len({one.dtype.kind == "U" for one in arrays}) > 1:
        raise DataError(f"{what} are text in some examples and numbers in others; expected only one of them")
    shapes = {one.shape for one in arrays}
    if len(shapes) > 1:
        first, second = sorted(shapes)[:2]
        raise DataError(f"{what} have shapes {first} and {second}; expected one shape: resize them")
    return np.stack(arrays) if arrays else np.empty((0, 1))
