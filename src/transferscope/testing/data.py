"""Contract tests of data sets."""

from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from transferscope.data import Dataset, load
from transferscope.data.leakage import check_leakage
from transferscope.data.load import seen_from
from transferscope.data.splits import few_shot
from transferscope.data.task import LabelledSet, TransferTask
from transferscope.errors import SettingsError, TransferscopeError
from transferscope.testing.promises import check_all, require

_MOST_LEAKAGE = 0.05  # share of test examples that may be among those to learn from, as studies have it


@dataclass(frozen=True)
class DataCase:
    """Data by name, as in `load`."""

    name: str

    @cached_property
    def data(self) -> Dataset:
        """The data, loaded once."""
        return load(self.name)

    @property
    def parts(self) -> dict[str, LabelledSet]:
        """The training and test examples."""
        return {"training": self.data.train, "test": self.data.test}


def check_data(name: str) -> None:
    """Test the contract of a data set, which is loaded a few times.

    Args:
        name: As in `load`: "examples/data.py:two_moons?n=500", the name of an entry point, "npz:PATH", ...

    Raises:
        AssertionError: It breaks a promise of `DATA_PROMISES`.
    """
    check_all(DATA_PROMISES, DataCase(name), f"the data {name}")


def _is_repeatable(case: DataCase) -> None:
    state = np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    require(load(case.name).fingerprint == case.data.fingerprint, "it is loaded twice with other content")
    after = np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    require(state == after, "loading it changes NumPy's global random state; draw from the seed that is given")


def _is_not_empty(case: DataCase) -> None:
    for part, examples in case.parts.items():
        require(len(examples) > 1, f"it has {len(examples)} {part} examples")
        require(np.isfinite(examples.inputs.astype(np.float64)).all(), f"its {part} inputs are not finite")


def _has_labels(case: DataCase) -> None:
    classes = case.data.train.classes
    require(classes == case.data.test.classes, "training and test part have other classes")
    if classes is None:
        for part, examples in case.parts.items():
            require(np.isfinite(examples.labels).all(), f"its {part} labels are not finite")
        return
    require(len(classes) > 1, f"it has the one class {classes}")
    require(len(set(classes)) == len(classes), "two classes have one name")
    if case.data.train.kind == "multi-label":
        for name, n in zip(classes, case.data.train.class_counts(), strict=True):
            require(0 < n < len(case.data.train), f"all or no training examples have the label {name!r}")
        return
    present = np.unique(case.data.train.labels)
    require(len(present) > 1, f"all training examples are of class {classes[int(present[0])]!r}")


def _tests_on_others(case: DataCase) -> None:
    report = check_leakage(TransferTask(case.data))
    share = report.in_any / report.n_test
    require(share <= _MOST_LEAKAGE, f"{100 * share:.0f} % of its test examples are among the training examples")


def _gives_subsets(case: DataCase) -> None:
    n = min(10, len(case.data.train))
    one, again = (few_shot(case.data.train, n, seed=0) for _ in range(2))
    require(len(one) == n and one.fingerprint == again.fingerprint, "few-shot subsets of one seed differ")


def _is_found_from_elsewhere(case: DataCase) -> None:
    name = seen_from(case.name, Path.cwd())
    expected = case.data.fingerprint
    with TemporaryDirectory() as elsewhere, chdir(elsewhere):  # where a study file of another folder is read
        try:
            found = load(name).fingerprint
        except TransferscopeError as error:
            raise AssertionError(
                f"from another folder {name} is not found, so say which options are paths by `reads_path`: {error}"
            ) from error
    require(found == expected, f"by its absolute name {name} it is another")


def _refuses_unknown_options(case: DataCase) -> None:
    try:
        load(f"{case.name}{'&' if '?' in case.name else '?'}no_such_option=1")
    except SettingsError:
        return
    raise AssertionError("an option that it does not know is ignored silently; call spec.allow((...))")


DATA_PROMISES: dict[str, Callable[[DataCase], None]] = {
    "loaded twice it is the same": _is_repeatable,
    "it has finite inputs to learn from and to test on": _is_not_empty,
    "it has labels that differ": _has_labels,
    "what it is tested on is not trained on": _tests_on_others,
    "it gives few-shot subsets": _gives_subsets,
    "its paths may be absolute": _is_found_from_elsewhere,
    "it refuses options that it does not know": _refuses_unknown_options,
}
"""Checks by their descriptions."""
