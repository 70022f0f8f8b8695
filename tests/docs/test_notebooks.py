"""The notebooks of `examples/notebooks` run from the first cell to the last, and what ends a cell shows itself.

They are kept with what they show; TRANSFERSCOPE_NOTEBOOKS=write writes that anew.
"""

import ast
import json
import os
from pathlib import Path

import pytest

WRITE = os.environ.get("TRANSFERSCOPE_NOTEBOOKS") == "write"
NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_answers_show_themselves(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    notebook, shown = json.loads(path.read_text(encoding="utf-8")), []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        body = ast.parse("".join(cell["source"])).body
        last = body.pop().value if isinstance(body[-1], ast.Expr) else None  # type: ignore[attr-defined]
        exec(compile(ast.Module(body, []), f"{path.name}", "exec"), names)
        kinds: dict[str, str] = {}
        if last is not None:
            found = eval(compile(ast.Expression(last), f"{path.name}", "eval"), names)
            html = {"text/html": found._repr_html_()} if hasattr(found, "_repr_html_") else {}
            kinds = {**html, "text/plain": str(found.verdict) if hasattr(found, "verdict") else repr(found)}
            shown.append(html.get("text/html", kinds["text/plain"]))
        if WRITE:
            data = {kind: text.splitlines(keepends=True) for kind, text in kinds.items()}
            output = {"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data}
            cell["outputs"] = [output] if data else []
        assert [set(output["data"]) for output in cell["outputs"]] == ([set(kinds)] if kinds else [])
    if WRITE:
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert len(shown) >= 2
    assert all(shown)
    assert any("<table" in one for one in shown)


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) == 3
