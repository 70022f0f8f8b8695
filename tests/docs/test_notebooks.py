"""The notebooks of `examples/notebooks` run from the first cell to the last, and what ends a cell shows itself."""

import ast
import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_answers_show_themselves(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    shown = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [], "a notebook is kept without outputs, which would go stale"
        body = ast.parse("".join(cell["source"])).body
        last = body.pop().value if isinstance(body[-1], ast.Expr) else None  # type: ignore[attr-defined]
        exec(compile(ast.Module(body, []), f"{path.name}", "exec"), names)
        if last is not None:
            found = eval(compile(ast.Expression(last), f"{path.name}", "eval"), names)
            shown.append(found._repr_html_() if hasattr(found, "_repr_html_") else repr(found))
    assert len(shown) >= 2
    assert all(shown)
    assert any("<table" in one for one in shown)


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) == 3
