"""What people call the parts of their data: folders, files, splits of a saved data set, values of a column."""

from collections.abc import Iterable
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
"""Names of each part, in small letters; others mean nothing."""

ALL_NAMES = tuple(name for names in NAMES.values() for name in names)


@dataclass(frozen=True, slots=True)
class SplitNames:
    """Which names stand for the parts that are used.

    Attributes:
        test: The name of the test part, or of the validation part where there is no test part.
        left_out: The name of the validation part beside a test part: settings are chosen by cross-validation within the
            training part. Empty where there is none.
    """

    train: str
    test: str
    left_out: str = ""

    @property
    def note(self) -> str:
        """What is left out, or that a validation part is the test set, in words; empty where the names say it."""
        if self.left_out:
            return f"{self.left_out} is left out, since {self.test} is the test set"
        return f"{self.test} is the test set" if self.test.lower() in NAMES["validation"] else ""


def name_of(role: Role, names: Iterable[str], where: str) -> str | None:
    """The name that stands for a part, in small or capital letters; a DataError for two of them."""
    same = [name for name in names if name.lower() in NAMES[role]]
    if len(same) > 1:
        raise DataError(f"{where} has {' and '.join(same)}, which both stand for the {role} part; keep one of them")
    return same[0] if same else None


def split_names(names: Iterable[str], where: str) -> SplitNames | None:
    """The names of both parts; None where there is no training part, or nothing to test on.

    Raises:
        DataError: Two names stand for the same part.
    """
    names = list(names)
    train, validation, test = (name_of(role, names, where) for role in NAMES)
    held_out = test or validation
    if train is None or held_out is None:
        return None
    return SplitNames(train, held_out, (validation or "") if test else "")


def split_files(path: Path, suffixes: Iterable[str]) -> tuple[Path, Path | None, str]:
    """The training and the test file of a folder, and what is left out, in words; of a file, that file alone.

    Raises:
        DataError: The folder has no such files, or two of the same part.
    """
    if not path.is_dir():
        return path, None, ""
    files = [file for file in sorted(path.iterdir()) if file.suffix.lower() in suffixes]
    split = split_names([file.stem for file in files], str(path))
    if split is None:
        held = ", ".join(file.name for file in files[:5]) or "none"
        raise DataError(
            f"{path} has no files of a training and a test part among {', '.join(suffixes)} files ({held}); name the "
            f"parts {', '.join(ALL_NAMES)}, or name one file"
        )
    of_part = {file.stem: file for file in files}
    return of_part[split.train], of_part[split.test], split.note
