"""What Python programs give to the public functions: another type is one sentence, and nothing is begun."""

import inspect
import pydoc
import re
import typing
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from torch import nn

import transferscope
from transferscope.arguments import checks_arguments
from transferscope.data import Dataset, LabelledSet
from transferscope.errors import SettingsError
from transferscope.settings.questions import Columns, ScalingQuestion

DOOR: Any = transferscope
_FEW = LabelledSet(np.zeros((4, 2), np.float32), np.arange(4) % 2, ("a", "b"))
_DATA, _TABLE = Dataset("mine", _FEW, _FEW), pd.DataFrame({"n": [1, 2]})


def _unchecked(record: Any, **values: Any) -> Any:
    """Return a record with values of other types, as a program makes one; types are checked in tests alone."""
    for name, value in values.items():
        object.__setattr__(record, name, value)
    return record


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            lambda: DOOR.compare(run=print, arms=[{"source": 1}]),
            ["arms is given as a list of dict; expected a dict of dicts"],
        ),
        (lambda: DOOR.compare(run=print, arms={"a": "x"}), ["arms is given as dict; expected a dict of dicts"]),
        (
            lambda: DOOR.compare(run=print, arms={"a": {"source": None}}, score="accuracy"),
            ["score", "'accuracy'", "a dict"],
        ),
        (
            lambda: DOOR.compare("digits", "glyphs", labels=10),
            ["labels is given as int 10", "whole numbers, as in [10]"],
        ),
        (lambda: DOOR.compare("digits", "glyphs", labels=[10.5]), ["labels is given as a list of float"]),
        (lambda: DOOR.compare("digits", "glyphs", methods="merlin"), ["a list of texts or None, as in ['merlin']"]),
        (
            lambda: DOOR.diagnose("a.safetensors", "digits", part="how"),
            ["part is given as 'how'", "'target_train' or 'target_test'"],
        ),
        (
            lambda: DOOR.compare("digits", np.zeros(3)),
            ["sources is given as ndarray", "a Pretrained, a torch.nn.Module, or a list of these"],
        ),
        (lambda: DOOR.compare(_TABLE.to_dict("records")), ["compare was given no source"]),
        (
            lambda: DOOR.compare(_TABLE, "digits"),
            ["data frame with several columns and no label named", "label=COLUMN, one of n"],
        ),
        (lambda: DOOR.compare(_TABLE, without="ridge"), ["without is given as 'ridge'", "as in ['ridge']"]),
        (lambda: DOOR.compare("digits", "glyphs", folder=None), ["folder is given as None; expected text or a path"]),
        (lambda: DOOR.rank(["a.safetensors"], "digits"), ["rank(target, networks): target is given as a list of str"]),
        (
            lambda: DOOR.rank("digits", _DATA),
            ["networks is given as Dataset; expected text, a path, Pretrained, a list"],
        ),
        (lambda: DOOR.rank("digits", [nn.Linear(2, 2)]), ["networks is given as a list of Linear"]),
        (lambda: DOOR.diagnose(nn.Linear(2, 2), "digits"), ["checkpoint is given as Linear; expected text or a path"]),
        (lambda: DOOR.scaling(_TABLE.to_numpy()), ["scaling(table, question): table is given as ndarray"]),
        (
            lambda: DOOR.scaling(_TABLE, budget=10.0),
            ["scaling accepts no budget; give question={'budget': ...}"],
        ),
        (
            lambda: DOOR.scaling(_TABLE, {"at": [1e6]}),
            ["question: at is given as a list of float; expected a list of lists of numbers, as in [[1000000.0]]"],
        ),
        (
            lambda: DOOR.scaling(_TABLE, _unchecked(ScalingQuestion(), at=("1M",))),
            ["question: at is given as a tuple of"],
        ),
        (lambda: DOOR.scaling(_TABLE, columns={"by": 3}), ["columns: by is given as int 3; expected a list of texts"]),
        (lambda: DOOR.scaling(_TABLE, columns={"pretrain": "n"}), ["setting of columns 'pretrain'", "'pretrain_size'"]),
        (lambda: DOOR.compare("digits", {"a": "glyphs"}), ["sources is given as dict", "or a list of these"]),
        (lambda: DOOR.compare("digits", {}), ["sources is given as dict"]),
        (lambda: DOOR.scaling(_TABLE, columns={1: "n"}), ["setting of columns '1'"]),
        (lambda: DOOR.plan(_TABLE, score="f1"), ["plan accepts no score; give columns={'score': ...}"]),
        (lambda: DOOR.load_model(3), ["place is given as int 3"]),
    ],
)
def test_another_type_is_one_sentence(asked: Callable[[], Any], words: list[str]) -> None:
    with pytest.raises(SettingsError) as refused:
        asked()
    assert all(one in str(refused.value) for one in words), str(refused.value)
    assert "\n" not in str(refused.value)


@checks_arguments
def _ask(labels: Sequence[int] = (), *, margin: float | None = None) -> tuple[list[int], float | None]:
    return list(labels), margin


@pytest.mark.parametrize("labels", [np.array([20]), (np.int64(20),), range(20, 21), iter([20]), pd.Series([20]), {20}])
def test_lists_and_numbers_of_other_packages_are_taken(labels: Any) -> None:
    margin: Any = np.float32(1)
    assert _ask(labels, margin=margin) == ([20], 1)


def test_an_unknown_argument_is_one_sentence_with_the_nearest() -> None:
    with pytest.raises(SettingsError, match=r"argument of _ask 'lables': did you mean 'labels'\?"):
        _ask(lables=[10])  # type: ignore[call-arg]
    with pytest.raises(SettingsError, match=r"argument of compare 'groups': did you mean 'group'"):
        DOOR.compare((np.zeros((4, 2)), np.arange(4)), "digits", groups=np.arange(4))


def test_what_python_says_of_too_many_arguments_stays() -> None:
    with pytest.raises(TypeError, match=r"_ask\(\) takes from 0 to 1 positional arguments"):
        _ask([10], 0.1)  # type: ignore[call-arg]


def test_paths_are_data_as_text_is(tmp_path: Path) -> None:
    (tmp_path / "mine.npz").touch()
    for given in (tmp_path / "mine.npz", str(tmp_path / "mine.npz")):
        with pytest.raises(SettingsError, match=r"looks like a file; write 'npz:"):
            DOOR.compare(given, "digits", folder=tmp_path)
        with pytest.raises(SettingsError, match=r"looks like a file; write 'npz:"):
            DOOR.compare("digits", given, folder=tmp_path)


def test_help_shows_a_parameter_on_each_line_under_headings() -> None:
    shown, _ = pydoc.plain(pydoc.render_doc(DOOR.compare)).split(") -> ComparisonResult", maxsplit=1)
    lines = [line.strip() for line in shown.splitlines()[1:]]
    assert max(map(len, lines)) < 80
    assert "training: Mapping[str, Any] = {}," in lines
    assert "sources: Source | Sequence[Source] | None = None," in lines
    names = [line.partition(":")[0] for line in lines if re.match(r"\w+: ", line)]
    assert names == list(inspect.signature(DOOR.compare).parameters)
    assert lines[lines.index("# results that are there") + 1].startswith("without: ")
    assert lines[lines.index("*,") + 1].startswith("# ")


def test_the_types_that_help_shows_are_those_that_are_held() -> None:
    """`typing` resolves the names as this module has them; another function shows its types without their modules."""
    shown = inspect.signature(DOOR.rank)
    assert "networks: " in str(shown)
    assert "collections.abc" not in str(shown)
    hints = typing.get_type_hints(DOOR.compare)
    assert hints.keys() - {"return"} == set(inspect.signature(DOOR.compare).parameters)


def test_a_record_may_be_a_dict_and_a_result_prints_what_its_command_prints() -> None:
    table = pd.DataFrame({"images": [100, 1000, 10_000, 100_000] * 2, "model": ["a"] * 4 + ["b"] * 4})
    table["error"] = 0.1 + table["images"] ** -0.3 + 0.05 * (table["model"] == "b")
    settings: dict[str, Any] = {"pretrain_size": "images", "by": ["model"]}
    said = DOOR.scaling(table, columns=settings, question={"target_score": 0.15})
    same = DOOR.scaling(
        table, columns=Columns(pretrain_size="images", by=("model",)), question=ScalingQuestion(target_score=0.15)
    )
    assert repr(said) == str(same) == same.verdict.shown
    ways = (np.array([[1e5], [1e6]]), [[1e5], [1e6]], ((n,) for n in (1e5, 1e6)), ((1e5,), (1e6,)))
    first, *others = (str(DOOR.scaling(table, columns=settings, question={"at": at}).verdict) for at in ways)
    assert "at 1,000,000 expect" in first
    assert set(others) == {first}
    assert str(said.verdict) == repr(said.verdict) == "\n".join([said.verdict.headline, *said.verdict.sentences])
    assert len(repr(said)) < 2000
