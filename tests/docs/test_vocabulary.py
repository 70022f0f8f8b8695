"""Guides, templates, help and messages use the terms of docs/glossary.md, and no word that is listed here."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from vocabulary import NOT_ALLOWED

ROOT = Path(__file__).parents[2]
PACKAGES = ("transferscope", "transferscope_papers")
SRC = ROOT / "src/transferscope"

CELL = r"\b[Cc]ells?\b"
"""A cell of the engine is a run (or a pretraining) to a reader; tables, grids and notebooks have cells too."""

CELL_KEY = r"(^|_)cells?($|_)"

OF_TABLES = ("data/", "analyses/columns.py", "analyses/results/", "report/")
OF_GRIDS = (
    r"\bgrids?\b|\bmasks?\b|labelled cells|of the cells are unlabelled|for the cells$|every cell\b|^F K cell cell$"
)
AS_DEFINED = (
    r"calls both cells|plan of \*cells\*|cells of a store|report of 10\^5 cells"  # glossary, study files, speed
)
OF_ENGINE = ("store/", "study/work.py", "study/fitting.py")  # messages of their functions, to who calls them

SAYS = ("Error", "Warning", "RunFailed", "unknown_name", "missing_extra", "refuse_unused", "warn", "warning")
HELPS = ("Says", "Shown", "Short", "Option", "Argument")


@cache
def _nodes(path: Path) -> tuple[ast.AST, ...]:
    """Every node of a module, parsed once."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def _text(node: ast.AST) -> str:
    """The literal parts of a string expression, with {} for each value."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else "{}"
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    if isinstance(node, ast.BinOp | ast.IfExp):
        return " ".join(_text(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))
    return "{}"


def _calls(names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Place and text of every string that is given to a call of one of these names, or to `help=`."""
    for path in sorted(SRC.rglob("*.py")):
        for node in _nodes(path):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func).rpartition(".")[2]
            given = [*node.args, *(one.value for one in node.keywords)] if called.endswith(names) else []
            given += [one.value for one in node.keywords if one.arg == "help"]
            for text in filter(lambda text: " " in text, map(_text, given)):
                yield f"{path.relative_to(SRC)}:{node.lineno}", text


def _strings(*folders: Path) -> Iterator[tuple[str, str]]:
    """Place and text of every string of several words that is not a docstring: figures, titles, rows, messages."""
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        nodes = _nodes(path)
        inside = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        inside |= {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in inside and " " in _text(node):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", _text(node)


def _docstrings() -> Iterator[tuple[str, str]]:
    """Place and text of every docstring, those of constants too."""
    for path in sorted(path for package in PACKAGES for path in (ROOT / "src" / package).rglob("*.py")):
        for node in _nodes(path):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and type(node.value.value) is str:
                yield f"{path.relative_to(ROOT)}:{node.lineno}", " ".join(node.value.value.split())


def _commands() -> Iterator[tuple[str, str]]:
    for path in sorted((SRC / "cli/commands").glob("*.py")):
        for node in _nodes(path):
            if isinstance(node, ast.ClassDef):
                yield f"{path.name}:{node.lineno}", ast.get_docstring(node) or ""


def _lines(*paths: Path) -> Iterator[tuple[str, str]]:
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            yield f"{path.relative_to(ROOT)}:{number}", line


GUIDES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
GUIDES += [path for folder in ("howto", "concepts", "theory") for path in sorted((ROOT / "docs" / folder).glob("*.md"))]
GUIDES.remove(ROOT / "docs/dead-ends.md")  # what was tried and given up, in the words of its time

QUOTING = ("words.md", "papers.md", "protocols.md", "mended.md", "trust.md")  # words of papers, or of the time before
RESULTS = [path for path in sorted((ROOT / "docs/results").glob("*.md")) if path.name not in QUOTING]

SURFACES: dict[str, Callable[[], Iterable[tuple[str, str]]]] = {
    "guides": lambda: _lines(*GUIDES),
    "templates": lambda: (
        (place, re.sub(r"{[{%].*?[%}]}", "", line)) for place, line in _lines(*sorted(SRC.rglob("*.j2")))
    ),
    "messages": lambda: _calls(SAYS),
    "help": lambda: (*_calls(HELPS), *_commands()),
    "strings": lambda: _strings(SRC, ROOT / "src/transferscope_papers"),
    "docstrings": _docstrings,
    "results": lambda: ((place, re.sub(r"\]\(.*?\)", "]", line)) for place, line in _lines(*RESULTS)),
}


@pytest.mark.parametrize("surface", SURFACES)
def test_what_people_read_uses_the_terms_of_the_glossary(surface: str) -> None:
    texts = [*SURFACES[surface]()]
    assert len(texts) > 100
    found = [
        f"{place}: {said[0]!r} in {text[:80]!r}; write {instead}"
        for place, text in texts
        for word, instead in NOT_ALLOWED.items()
        if (said := re.search(word, text))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("surface", ["guides", "templates", "messages", "help", "strings"])
def test_a_cell_stays_inside_the_engine(surface: str) -> None:
    found = [
        f"{place}: {text[:120]}"
        for place, text in SURFACES[surface]()
        if re.search(CELL, text)
        and not re.search(f"{OF_GRIDS}|{AS_DEFINED}", text)
        and not place.removeprefix("src/transferscope/").startswith((*OF_TABLES, *OF_ENGINE))
    ]
    assert not found, "\n".join(found)


def _keys(*folders: str) -> Iterator[str]:
    """Every field of a class and every key of a literal dict: what JSON, CSV and Python attributes are made of."""
    for path in sorted(path for folder in folders for path in (SRC / folder).rglob("*.py")):
        for node in _nodes(path):
            if isinstance(node, ast.ClassDef):
                annotated = [one.target for one in node.body if isinstance(one, ast.AnnAssign)]
                yield from (one.id for one in annotated if isinstance(one, ast.Name))
            if isinstance(node, ast.Dict):
                yield from (one.value for one in node.keys if isinstance(one, ast.Constant) and type(one.value) is str)


KEYS = r"pre_train|settled|^told|(best|beside)_with|_without$"
"""What no key of the JSON, column of a CSV or attribute of a result is called."""


def test_keys_of_the_json_are_terms_of_the_glossary() -> None:
    documented = re.findall(r"`([a-z_]+)`", (ROOT / "docs/json.md").read_text(encoding="utf-8"))
    fields = [*_keys("decision", "analyses", "cli")]
    answers = [*_keys("decision", "analyses/compare", "cli")]
    assert len(documented) > 100
    assert len(fields) > 700
    assert len(answers) > 300
    assert not [key for key in documented if re.search(rf"{CELL_KEY}|measure|{KEYS}", key)]
    assert not [key for key in fields if re.search(KEYS, key)]
    assert not [key for key in answers if re.search(CELL_KEY, key)]


def _everything() -> Iterator[str]:
    """What the package and the docs say, with {} for values: strings and docstrings, templates, lines of docs."""
    for path in sorted(SRC.rglob("*.py")):
        for node in _nodes(path):
            if isinstance(node, ast.Constant | ast.JoinedStr):
                yield _text(node)
    for path in sorted(SRC.rglob("*.j2")):
        yield from re.sub(r"{[{%].*?[%}]}", "{}", path.read_text(encoding="utf-8"), flags=re.DOTALL).split("\n\n")
    yield from (line for _, line in _lines(*GUIDES))


def test_texts_shown_as_rewritten_are_what_is_said_now() -> None:
    page = (ROOT / "docs/results/words.md").read_text(encoding="utf-8")
    shown = [line.split(" | ")[-1].removesuffix(" |") for line in page.splitlines() if line.count(" | ") == 2]
    said = "\n".join(" ".join(text.split()) for text in _everything())
    assert len(shown) > 20
    assert [one for one in shown[1:] if not re.search(".*".join(map(re.escape, one.split("…"))), said)] == []


NOUNS = "The A An Whether What How Which Who Where When As All Every Each Its Of That Those These Both Such Everything"
NOUNS += " Mean Means Share Number Sum Risk Points Vectors Lower Upper One Two Three Four Five Six Only No Never Up"


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_of_functions_begin_with_a_verb(package: str) -> None:
    found, n = [], 0
    for path in sorted((ROOT / "src" / package).rglob("*.py")):
        for node in _nodes(path):
            if not isinstance(node, ast.FunctionDef) or any("property" in ast.unparse(x) for x in node.decorator_list):
                continue
            begins = (ast.get_docstring(node) or "Do").split()[0]
            n += 1
            if begins in NOUNS.split() or not re.match(r"[A-Z][a-z]", begins):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {begins} ...")
    assert n > 500
    assert not found, "\n".join(found)
