"""Every Python and shell block of README and docs runs, as it is printed.

Python blocks of one page share their names, in the order of the page. Names of data sets lead to small data of the same
shape, and the files that a page takes for granted (a table, networks, a finished study) lie in the folder they run in.
A block below the comment `<!-- not run: REASON -->` is left out; these are counted. A block with a title is written
to a file of that name; one that is titled "Answer" is what the command before it prints, and of one that is titled
"Output" the words are, since numbers and times are those of a processor.
"""

import os
import re
import shlex
import shutil
import sys
import textwrap
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tomli_w

from transferscope.cli.main import main
from transferscope.models import build_network, save_weights
from transferscope.store import Store
from transferscope.study.run import run_study
from transferscope.study.spec import parse_spec, read_spec

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = ("docs/theory/", "docs/results/theory-agreement.md", "docs/results/scaling-syn2real.md")
"""Pages on figures of papers, whose commands have tests of their own."""

MOST_NOT_RUN = 4


@dataclass(frozen=True)
class Block:
    """A piece of code on a page."""

    language: str
    text: str
    line: int
    not_run: str


def blocks_of(page: str) -> list[Block]:
    """Fenced blocks, and indented ones that hold commands, in the order of the page."""
    found, lines = [], page.splitlines()
    at, marked = 0, ""
    while at < len(lines):
        line = lines[at]
        if mark := re.fullmatch(r"<!-- not run: (.+) -->", line):
            marked = mark[1]
        elif line.lstrip().startswith("```"):
            end = next(i for i in range(at + 1, len(lines)) if lines[i].strip() == "```")
            text = textwrap.dedent("\n".join(lines[at + 1 : end]))
            language = line.strip().removeprefix("```")
            plain = not language and any(inner.startswith("transferscope ") for inner in text.splitlines())
            found.append(Block("sh" if plain else language, text, at + 1, marked))
            at, marked = end, ""
        elif line.startswith("    ") and (at == 0 or not lines[at - 1].strip()):
            end = next((i for i in range(at, len(lines)) if not lines[i].startswith("    ")), len(lines))
            text = "\n".join(inner[4:] for inner in lines[at:end])
            if re.match(r"(transferscope|make|python|pip) ", text):
                found.append(Block("sh", text, at + 1, marked))
                marked = ""
            at = end - 1
        elif line.strip():
            marked = ""
        at += 1
    return found


PAGES = {
    name: blocks_of(path.read_text(encoding="utf-8"))
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if not (name := path.relative_to(ROOT).as_posix()).startswith(ELSEWHERE)
}
RUNNABLE = {
    name: blocks for name, blocks in PAGES.items() if any(block.language in ("python", "sh") for block in blocks)
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What pages take for granted: data by name, a table of errors, networks, and a finished study."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "data").mkdir()
    generator = np.random.default_rng(0)
    for name, side in (("mnist", 28), ("fashion-mnist", 28), ("usps", 16)):
        y = np.arange(240) % 10
        x = generator.integers(0, 100, size=(240, side, side), dtype=np.uint8)
        x[np.arange(240), y, :] = 255
        np.savez(folder / f"data/{name}.npz", x_train=x[:160], y_train=y[:160], x_test=x[160:], y_test=y[160:])
    sizes = 1000 * 2 ** np.arange(7)
    table = pd.DataFrame({"n": sizes, "error": 0.92 + 0.6 * sizes**-0.4})
    for name in ("TABLE.csv", "errors.csv"):
        table.to_csv(folder / name, index=False)
    labels = np.array([25, 50, 100, 200, 400])
    arms = {"scratch": 2 * labels**-0.5, "fine-tune": 0.5 * labels**-0.25}
    curves = [pd.DataFrame({"labels": labels, "arm": arm, "accuracy": 1 - e}) for arm, e in arms.items()]
    pd.concat(curves).to_csv(folder / "CURVES.csv", index=False)
    _results(folder)
    shutil.copytree(ROOT / "docs/howto/published", folder, dirs_exist_ok=True)
    params, tokens = (np.exp(generator.uniform(*ends, 30)) for ends in ((17, 23), (20, 26)))
    loss = (1.8 + 480 * params**-0.35 + 2000 * tokens**-0.37) * np.exp(0.003 * generator.normal(size=30))
    pd.DataFrame({"params": params, "tokens": tokens, "loss": loss}).to_csv(folder / "models.csv", index=False)
    for seed, name in enumerate(("net", "start", "a", "b")):
        save_weights(build_network("lenet", (1, 16, 16), 10, seed=seed), folder / f"{name}.safetensors")
    for seed, name in enumerate(("mnist", "fashion")):
        save_weights(build_network("lenet", (1, 28, 28), 10, seed=seed), folder / f"{name}.safetensors")
    digits = {"data": "digits", "limit": 300}
    study = {
        "name": "study",
        "seeds": 2,
        "store": "study.sqlite",
        "target": {**digits, "labels": [50]},
        "sources": {"same": digits, "turned": {**digits, "transforms": ["upside-down"]}},
        "network": {"name": "mlp", "widths": [8]},
        "pretraining": {"steps": 20},
        "training": {"steps": 20},
        "methods": {"scratch": {}, "fine-tune": {}, "linear-probe": {}},
        "engine": {"workers": 0, "device": "cpu"},
    }
    (folder / "STUDY.toml").write_text(tomli_w.dumps(study))
    with Store.open(folder / "study.sqlite") as store:
        run_study(read_spec(folder / "STUDY.toml"), store)
    return folder


def _results(folder: Path) -> None:
    """Tables of runs of somebody's own scripts, the second with what each predicted for every test example."""
    generator = np.random.default_rng(1)
    means = {"scratch": 0.70, "tfidf": 0.74, "bert": 0.80, "roberta": 0.80}
    hard, label = generator.normal(size=500), generator.integers(0, 2, 500)
    rows = []
    for arm, mean in means.items():
        for seed in range(3):
            right = hard + generator.normal(size=500) < np.quantile(hard, mean)
            (folder / "predicted" / arm).mkdir(parents=True, exist_ok=True)
            guess = np.where(right, label, 1 - label)
            predicted = pd.DataFrame({"prediction": guess, "label": label})
            predicted.to_csv(folder / "predicted" / arm / f"{seed}.csv", index=False)
            score = mean + 0.005 * generator.normal()
            rows.append({"arm": arm, "seed": seed, "accuracy": score, "seconds": 20.0, "scored": right.mean()})
    table = pd.DataFrame(rows)
    table.drop(columns="scored").to_csv(folder / "results.csv", index=False)
    table.drop(columns="accuracy").rename(columns={"scored": "accuracy"}).to_csv(folder / "scored.csv", index=False)


def _command(line: str) -> int:
    """Run one command line in this process; its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", shlex.split(line, comments=True))
        with pytest.raises(SystemExit) as ended:
            main()
    return ended.value.code if isinstance(ended.value.code, int) else 0


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


@pytest.mark.drawn
@pytest.mark.long
@pytest.mark.parametrize("page", RUNNABLE)
def test_the_blocks_of_a_page_run(
    page: str, prepared: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(prepared)
    monkeypatch.setenv("TRANSFERSCOPE_DATA", str(prepared / "data"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")  # what a page calls python
    names: dict[str, object] = {"__name__": "page"}
    printed = ""
    for block in RUNNABLE[page]:
        if block.not_run:
            continue
        if titled := re.search(r'title="([\w-]+\.\w+)"', block.language):
            Path(titled[1]).write_text(block.text, encoding="utf-8")
        if block.language == "python":
            exec(compile("\n" * block.line + block.text, page, "exec"), names)
        elif block.language == "sh":
            for line in block.text.replace("\\\n", " ").splitlines():
                assert line.startswith("transferscope "), f"{page}: {line} cannot be run here; mark it as not run"
                capsys.readouterr()
                assert _command(line) == 0, f"{page}: {line}"
                printed = capsys.readouterr().out
        elif 'title="Output"' in block.language:
            assert _words(block.text) <= _words(printed), f"{page}: line {block.line}:\n{printed}"
        elif 'title="Answer"' in block.language:
            assert block.text in printed, f"{page}: line {block.line}"


def test_few_blocks_are_left_out() -> None:
    left_out = [(page, block.line) for page, blocks in PAGES.items() for block in blocks if block.not_run]
    assert 0 < len(left_out) <= MOST_NOT_RUN, left_out
    assert all(block.language != "python" for blocks in PAGES.values() for block in blocks if block.not_run)
    n_comments = sum((ROOT / page).read_text(encoding="utf-8").count("<!-- not run:") for page in PAGES)
    assert n_comments == len(left_out), "a comment stands before something that is no block"


def test_the_study_file_of_the_docs_is_one_and_takes_the_tables_that_follow_it() -> None:
    first, *others = (block for block in PAGES["docs/studies.md"] if block.language == "toml")
    for block in (first, *others):
        tables = tomllib.loads(first.text) | tomllib.loads(block.text)
        assert parse_spec(tables, place="docs/studies.md").name == "usps"


def test_every_page_is_in_the_navigation() -> None:
    named = re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert sorted(named) == sorted(pages)
