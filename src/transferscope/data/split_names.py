"""Common names of the parts of data: folders, files, splits of a saved data set, values of a column."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from transferscope.errors import DataError

Role = Literal["training", "validation", "test"]

NAMES: dict[Role, tuple[str, ...]] = {
    "training": ("train", "training"),
    "validation": ("val", "valid", "validation", "dev", "eval"),
    "test": ("test", "testing"),
}
"""Names of each part, in lower case."""

ALL_NAMES = tuple(name for names in NAMES.values() for name in names)


@dataclass(frozen=True, slots=True)
class SplitNames:
    """Names of the parts that are used.

    Attributes:
        test: The name of the test part, or of the validation part where there is no test part.
        left_out: The name of the unused part: a validation part beside a test part, since settings are chosen by
            cross-validation within the training part, or a test part with hidden labels. Empty if none.
        is_hidden: Whether the labels of the unused part are hidden.
    """

    train: str
    test: str
    left_out: str = ""
    is_hidden: bool = False

    @property
    def note(self) -> str:
        """Note on an unused part, or on a validation part as the test set; empty if the names are clear."""
        if self.is_hidden:
            return f"{self.left_out} is left out, since it has no labels (-1 or nothing); {self.test} is the test set"
        if self.left_out:
            return f"{self.left_out} is left out, since {self.test} is the test set"
        return f"{self.test} is the test set" if self.test.lower() in NAMES["validation"] else ""


def name_of(role: Role, names: Iterable[str], where: str) -> str | None:
    """Return the name of a part, in lower or upper case; raises DataError for two of them."""
    same = [name for name in names if name.lower() in NAMES[role]]
    if len(same) > 1:
        raise DataError(f"{where} has {' and '.join(same)}, which are both the {role} part; keep one of them")
    return same[0] if same else None


def split_names(
    names: Iterable[str],
    where: str,
    *,
    train: str | None = None,
    labels: Callable[[str], Iterable[object] | None] | None = None,
) -> SplitNames | None:
    """Return the names of both parts; None without a training part or a test part.

    Args:
        train: The name of the training part; None to find it among the usual names.
        labels: Returns the labels of a part, or None if it has none; a test part with hidden labels, as in benchmarks,
            is replaced by the validation part. None if every part has labels.

    Raises:
        DataError: Two names mean the same part, or the only test part has no labels.
    """
    names = list(names)
    train = train or name_of("training", names, where)
    others = [name for name in names if name != train]
    validation, test = (name_of(role, others, where) for role in ("validation", "test"))
    held_out = test or validation
    if train is None or held_out is None:
        return None
    if test is not None and labels is not None and _are_hidden(labels(test), labels(train)):
        if validation is None:
            raise DataError(
                f"{where}: {test} has no labels (-1 or empty in every row) and there is no validation part; name a "
                "part with labels, or keep only the training part, which is then split"
            )
        return SplitNames(train, validation, test, is_hidden=True)
    return SplitNames(train, held_out, (validation or "") if test else "")


_NOTHING = ("", "None", "nan", "NaN", "<NA>", "NaT", "[]", "-1", "-1.0")
"""Texts of hidden labels."""


def _are_hidden(labels: Iterable[object] | None, train: Iterable[object] | None) -> bool:
    """Return whether a part has hidden labels (none, or -1, in every row), unlike the training part."""
    held, known = ({str(one).strip() for one in values or ()} for values in (labels, train))
    return held.isdisjoint(known) and held.issubset(_NOTHING)


def split_files(
    path: Path, suffixes: Iterable[str], labels: Callable[[Path], Iterable[object] | None]
) -> tuple[Path, Path | None, str]:
    """Return the training and the test file of a folder, and a note on those left out; for a file, that file alone.

    Args:
        labels: Returns the labels of a file, or None if it has none.

    Raises:
        DataError: The folder has no such files, two of the same part, or a test part without labels alone.
    """
    if not path.is_dir():
        return path, None, ""
    files = [file for file in sorted(path.iterdir()) if file.suffix.lower() in suffixes]
    of_part = {file.stem: file for file in files}
    split = split_names(of_part, str(path), labels=lambda name: labels(of_part[name]))
    if split is None:
        held = ", ".join(file.name for file in files[:5]) or "none"
        raise DataError(
            f"{path} has no training and test files among {', '.join(suffixes)} files ({held}); name the parts "
            f"{', '.join(ALL_NAMES)}, or give one file"
        )
    return of_part[split.train], of_part[split.test], split.note
