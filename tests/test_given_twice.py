"""Names that users choose: what two things are called is refused, or both are kept under names of their own."""

from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import pandas as pd
import pytest

from studies import write_npz
from study.specs import spec
from transferscope.analyses.compare.study_file import Question, study_tables
from transferscope.analyses.diagnose.choice import make_diagnostics
from transferscope.analyses.plan.measurements import read_scores
from transferscope.errors import SettingsError
from transferscope.settings.questions import LabelColumns
from transferscope.study.spec import parse_spec
from transferscope.wording import distinct

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["a.py", "b.py"], ["scratch", "twin-a", "twin-b"]),
        (["a.py", "sub/a.py"], ["scratch", "twin-a", "twin-a-2"]),
        (["a.py", "a.py"], ["scratch", "twin"]),  # one thing
        (["a.py"], ["scratch", "twin"]),
    ],
)
def test_two_methods_of_one_name_are_two_arms(files: list[str], expected: list[str], tmp_path: Path) -> None:
    text = (EXAMPLES / "method.py").read_text().replace('"my-bss"', '"twin"')
    (tmp_path / "sub").mkdir()
    for i, file in enumerate(files):
        (tmp_path / file).write_text(text.replace("] = 0.001", f"] = 0.00{i + 1}"))
    references = [f"{tmp_path / file}:BatchSpectralShrinkage" for file in files]
    tables = _tables(references, tmp_path)
    assert list(tables["methods"]) == expected
    etas = [vars(method)["eta"] for name, method in parse_spec(tables).methods.items() if name != "scratch"]
    assert etas == [0.001, 0.002][: len(expected) - 1] if files != ["a.py", "a.py"] else len(etas) == 1


def test_a_method_that_is_called_like_a_built_in_one_is_run_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text((EXAMPLES / "method.py").read_text().replace('"my-bss"', '"bss"'))
    for methods in (["bss", f"{file}:BatchSpectralShrinkage"], [f"{file}:BatchSpectralShrinkage", "bss"]):
        chosen = parse_spec(_tables(methods, tmp_path)).methods
        assert type(chosen["bss"]).__module__ == "transferscope.methods.bss"
        assert type(chosen["bss-mine"]).__name__ == "BatchSpectralShrinkage"
    file.write_text(file.read_text().replace('"bss"', '"scratch"'))
    assert (
        type(parse_spec(_tables([f"{file}:BatchSpectralShrinkage"], tmp_path)).methods["scratch"]).__name__ == "Scratch"
    )


def _tables(methods: list[str], folder: Path) -> dict[str, dict[str, object]]:
    data = write_npz(folder / "x.npz")
    return study_tables(Question(data, [data], folder, labels=[20], methods=methods, seeds=1))[0]


@pytest.mark.parametrize("names", sorted({*permutations(["a", "a", "a-2", "a-3"])}))
def test_names_with_numbers_are_distinct(names: tuple[str, ...]) -> None:
    found = distinct(names)
    assert len({*found}) == 4
    assert all(one.startswith(name) for one, name in zip(found, names, strict=True))


def _columns(_: Path) -> object:
    return read_scores(pd.DataFrame({"labels": [1], "Labels ": [2], "arm": ["a"], "score": [0.5]}), LabelColumns())


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "diagnostics": (
        lambda folder: make_diagnostics([_copy(folder, "a.py"), _copy(folder, "b.py")], {}),
        "name of a diagnostic 'stable-rank' is given twice",
    ),
    "arms": (
        lambda _: spec(methods={"training from scratch": {"method": "scratch"}}),
        r"\[methods.scratch\] and \[methods.training from scratch\] would both be called",
    ),
    "arms with sources": (
        lambda _: spec(methods={"fine-tuning from fashion": {"method": "scratch"}}),
        "would both be called",
    ),
    "columns": (_columns, "differ only in case or punctuation"),
}


def _copy(folder: Path, name: str) -> str:
    (folder / name).write_text((EXAMPLES / "diagnostic.py").read_text())
    return f"{folder / name}:StableRank"


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_given_twice_is_refused(what: str, tmp_path: Path) -> None:
    call, message = REFUSED[what]
    with pytest.raises(SettingsError, match=message):
        call(tmp_path)
