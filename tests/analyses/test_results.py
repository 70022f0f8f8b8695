"""What the five analyses return: one contract, whatever the question."""

import json
import math
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pages import Tags
from studies import write_npz
from transferscope.analyses.compare.result import ComparisonResult
from transferscope.analyses.compare.summary import summarise
from transferscope.analyses.diagnose import diagnose
from transferscope.analyses.rank import rank
from transferscope.analyses.result import AnalysisResult
from transferscope.analyses.scaling import scaling
from transferscope.errors import StoreError
from transferscope.models import NetworkSettings, build_network, save_weights
from transferscope.settings.questions import Columns
from transferscope.store import Store
from transferscope.study.run import run_study
from transferscope.study.spec import parse_spec

HOSTILE = "a<b>&c"
"""A name that is markup unless it is escaped."""

MLP = NetworkSettings("mlp", (5,))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished study, two networks and data in files."""
    folder = tmp_path_factory.mktemp("analyses")
    data = write_npz(folder / "data.npz", rows=(300, 200), features=6, classes=2, apart=2.0)
    for seed, name in enumerate((HOSTILE, "second")):
        save_weights(build_network(MLP, (6,), 2, seed=seed), folder / f"{name}.safetensors")
    tables = {
        "name": "small",
        "seeds": 2,
        "store": str(folder / "small.sqlite"),
        "target": {"data": data, "labels": [40]},
        "sources": {HOSTILE: {"data": data}, "noisy": {"data": data, "transforms": ["label-noise:0.4"]}},
        "network": {"name": "mlp", "widths": [5]},
        "pretraining": {"steps": 30, "lr": 0.1},
        "training": {"steps": 20, "lr": 0.1},
        "methods": {"scratch": {}, "fine-tune": {}, "linear-probe": {}},
        "engine": {"workers": 0, "device": "cpu"},
    }
    with Store.open(folder / "small.sqlite") as store:
        run_study(parse_spec(tables), store)
    return folder


def _compared(folder: Path) -> AnalysisResult:
    with Store.open(folder / "small.sqlite", create=False) as store:
        return ComparisonResult(summarise(store, "small"), folder / "small.sqlite", folder / "small.toml")


def _ranked_study(folder: Path) -> AnalysisResult:
    return rank(str(folder / "small.sqlite"), scores=["logme", "knn"], device="cpu")


def _ranked_files(folder: Path) -> AnalysisResult:
    files = [folder / f"{HOSTILE}.safetensors", folder / "second.safetensors"]
    data = f"npz:{folder / 'data.npz'}"
    return rank(data, files, network=MLP, labels=40, seeds=2, scores=["logme", "knn"], device="cpu")


def _diagnosed(folder: Path) -> AnalysisResult:
    return diagnose(
        folder / f"{HOSTILE}.safetensors",
        f"npz:{folder / 'data.npz'}",
        network=MLP,
        against=folder / "second.safetensors",
        diagnostics=["weights", "class-separation"],
        device="cpu",
    )


def _scaled(folder: Path) -> AnalysisResult:
    n = np.tile([1000, 2000, 4000, 8000, 16000], 2)
    by = np.repeat([HOSTILE, "plain"], 5)
    return scaling(pd.DataFrame({"n": n, "error": 0.1 + 3 * n**-0.4, "by": by}), columns=Columns(by=("by",)))


MAKERS: dict[str, Callable[[Path], AnalysisResult]] = {
    "compare": _compared,
    "rank": _ranked_study,
    "rank files": _ranked_files,
    "diagnose": _diagnosed,
    "scaling": _scaled,
}


@pytest.fixture(scope="module", params=MAKERS)
def result(request: pytest.FixtureRequest, folder: Path) -> AnalysisResult:
    return MAKERS[request.param](folder)


def test_the_verdict_is_text_with_its_headline_first(result: AnalysisResult) -> None:
    said = str(result.verdict)
    assert said.startswith(result.verdict.headline)
    assert result.verdict.headline
    assert all(sentence in said for sentence in result.verdict.sentences)


def test_json_is_strict_and_holds_every_number_of_the_table(result: AnalysisResult) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    found = json.loads(result.to_json(), parse_constant=refuse)
    assert found["analysis"] == result.kind
    assert found["verdict"]["headline"] == result.verdict.headline
    table = result.table()
    assert len(table) == len(found["rows"]) > 0
    n_numbers = 0
    for (_, row), kept in zip(table.iterrows(), found["rows"], strict=True):
        assert list(kept) == list(table.columns)
        for name, value in row.items():
            if isinstance(value, float | np.floating):
                n_numbers += 1
                assert kept[name] is None if math.isnan(value) else float(kept[name]) == value
    assert n_numbers > 0


def test_a_notebook_shows_the_first_screen_and_tables_in_a_style_of_its_own(result: AnalysisResult) -> None:
    html = result._repr_html_()
    seen = Tags(html)
    assert seen.left_open == []
    assert {"table", "style"} <= seen.opened
    assert not {"script", "a", "section"} & seen.opened  # nothing to run, and nowhere to go
    assert ("svg" in seen.opened) == any(section.figures for section in result.page())
    rules = html[html.index("<style>") : html.index("</style>")]
    for theme in ('[data-jp-theme-light="false"]', ".vscode-dark", "prefers-color-scheme: dark"):
        assert theme in rules
    shown = seen.text.replace("\u00a0", "").replace(" ", "")
    assert result.verdict.headline.replace("`", "").replace(" ", "")[:40] in shown
    assert HOSTILE in seen.text


def test_the_page_is_one_file_that_says_the_verdict_and_escapes_names(result: AnalysisResult, tmp_path: Path) -> None:
    written = result.report(tmp_path / "page.html")
    html = written.html.read_text(encoding="utf-8")
    assert "default-src 'none'" in html
    assert HOSTILE not in html
    assert HOSTILE in Tags(html).text
    assert written.verdict.headline == result.verdict.headline
    assert all(file.is_file() for file in written.files)


@pytest.mark.long
def test_an_answer_is_not_lost_where_the_study_cannot_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise StoreError("the store is read-only")

    monkeypatch.setattr(Store, "put_study_document", refuse)
    made = rank(folder / "small.sqlite", scores=["logme"], device="cpu")
    assert made.kept == "The report will not show this: the store is read-only"
    assert len(made.table())


IN_A_NEW_PROCESS = """
import inspect, sys, transferscope
assert "torch" not in sys.modules and "numpy" not in sys.modules and "pandas" not in sys.modules
import pandas as pd
transferscope.scaling(pd.DataFrame({"n": [1000, 2000, 4000, 8000], "error": [.3, .25, .21, .18]})).to_json()
assert "torch" not in sys.modules
for first in ("", "import transferscope.scaling", "from transferscope.analyses.compare import compare"):
    for name in [name for name in sys.modules if name.partition(".")[0] == "transferscope"]:
        del sys.modules[name]
    exec(first)
    import transferscope
    from transferscope import compare, diagnose, rank, scaling
    for analysis, first in ((compare, "target"), (diagnose, "checkpoint"), (rank, "target"), (scaling, "table")):
        assert callable(analysis), analysis
        assert next(iter(inspect.signature(analysis).parameters)) == first
    from transferscope.scaling import fit_law
    import transferscope.scaling as laws
    assert laws.fit_law is fit_law
    from transferscope import compare, scaling
    assert callable(compare) and callable(scaling)
    assert set(transferscope.__all__) <= set(dir(transferscope))
"""


@pytest.mark.long
def test_public_names_can_be_called_whatever_was_imported_before_and_a_scaling_law_needs_no_torch() -> None:
    done = subprocess.run([sys.executable, "-c", IN_A_NEW_PROCESS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("module", "offered"), [("", "compare"), (".analyses.rank", "rank"), (".analyses.diagnose", "diagnose")]
)
def test_an_unknown_public_name_says_which_there_are(module: str, offered: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute 'compere'; it offers .*{offered}"):
        getattr(import_module(f"transferscope{module}"), "compere")  # noqa: B009
