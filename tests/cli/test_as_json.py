"""`--json`: one document on the standard output, with the numbers of the tables; errors as without it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from cli.called import Call, commands
from fabricate import Fabrication, fabricate
from studies import write_npz
from transferscope.analyses.stored import open_result
from transferscope.cli import main
from transferscope.cli.as_json import SCHEMA, VERSION, print_json
from transferscope.store import Store
from transferscope.study.run import run_study
from transferscope.study.spec import read_spec

PAGE = Path(__file__).resolve().parents[2] / "docs" / "json.md"
DOCUMENTED = {
    command: set(re.findall(r"`(\w+)`", keys))
    for command, keys in re.findall(r"^\| `([a-zA-Z -]+)` \| ((?:`\w+` ?)+)\|", PAGE.read_text("utf-8"), re.MULTILINE)
}
ANSWERING = {re.sub(r" ([A-Z]+|--\w+)$", "", command) for command in DOCUMENTED}


def ask(*arguments: str, code: int = 0) -> dict[str, Any]:
    """The result of a command, whose standard output must be one strict JSON document."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    answer = CliRunner().invoke(main.app, [*arguments, "--json"], catch_exceptions=False)
    assert answer.exit_code == code, answer.output
    document = json.loads(answer.stdout, parse_constant=refuse)
    assert (document["schema"], document["version"]) == (SCHEMA, VERSION)
    assert " ".join(arguments).startswith(document["command"])
    result: dict[str, Any] = document["result"]
    return result


def documented(command: str, result: dict[str, Any], *left_out: str) -> bool:
    return result.keys() == DOCUMENTED[command] - set(left_out)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A made-up study with a failed cell, in the current folder."""
    failed = frozenset({("mnist", "merlin", 50, 1)})
    fabricate(tmp_path / "usps.sqlite", Fabrication(sizes=(50, 200), n_seeds=2, failed=failed)).close()
    return "usps.sqlite"


def test_every_command_that_answers_has_the_option_and_its_keys_are_documented() -> None:
    shown = {name: one for name, one in commands().items() if not (hasattr(one, "list_commands") or one.hidden)}
    having = {name for name, command in shown.items() if any("--json" in one.opts for one in command.params)}
    assert having == ANSWERING
    assert shown.keys() == having


def test_what_is_stored_is_said(store: str) -> None:
    stands = ask("status", store)
    assert documented("status", stands)
    (study,) = stands["studies"]
    assert DOCUMENTED["run"] <= study.keys()
    total = study["runs"].pop("total")
    assert (study["runs"]["failed"], sum(study["runs"].values())) == (1, total)
    (failed,) = study["failed"]
    assert failed["labels"].items() >= {"source": "mnist", "method": "merlin", "n_target": 50, "seed": 1}.items()
    assert failed["message"]


@pytest.mark.long
def test_a_page_is_said(store: str, tmp_path: Path) -> None:
    page = ask("report", store, "--out", "page.html")
    assert documented("report", page, "tasks")
    assert page["verdict"]["headline"] == open_result(store).verdict.headline
    assert page["written"][0] == "page.html"
    assert all((tmp_path / file).is_file() for file in page["written"])


def test_a_proposal_is_said() -> None:
    proposed = ask("propose", "CLIP_benchmark", "--task", "new", "--tried", "ViT-B-32 openai=0.8")
    assert documented("propose", proposed)
    assert proposed["rows"]


@pytest.mark.long
def test_labels_and_sizes_are_said(store: str) -> None:
    planned = ask("plan", store)
    assert documented("plan", planned)
    assert planned["written"] == []
    n = np.array([1000, 2000, 4000, 8000, 16000])
    Path("law.csv").write_text("n,error\n" + "".join(f"{size},{0.1 + 3 * size**-0.4:.6f}\n" for size in n))
    scaled = ask("scaling", "law.csv", "--out", "law.html")
    assert documented("scaling", scaled)
    assert scaled["written"] == ["law.html"]


def test_what_there_is_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSFERSCOPE_CACHE", str(tmp_path))
    catalogue = ask("show")
    assert documented("show", catalogue)
    digits = next(entry for entry in catalogue["data_sets"] if entry["name"] == "digits")
    assert digits["state"] == "bundled"
    found = ask("show", "digits")
    assert documented("show DATA", found)
    assert (found["train"] + found["test"], found["outputs"], found["input_shape"]) == (1797, 10, [1, 8, 8])
    network = ask("show", "mlp", "--shape", "6", "--set", "widths=5,4")
    assert documented("show NETWORK", network)
    assert network["backbone"]["parameters"] == 6 * 5 + 5 + 5 * 4 + 4
    assert sum(block["parameters"] for block in network["blocks"]) == network["backbone"]["parameters"]
    doctor = ask("doctor")
    assert documented("doctor", doctor)
    assert {finding["state"] for finding in doctor["findings"]} <= {"ok", "absent"}


def _study(folder: Path) -> Path:
    """A study of seconds, whose file is written."""
    write_npz(folder / "data.npz", rows=(200, 100), features=6, classes=2)
    file = folder / "small.toml"
    file.write_text(
        'name = "small"\nseeds = 2\nstore = "small.sqlite"\ntarget = { data = "npz:data.npz", labels = [40] }\n'
        'sources.same.data = "npz:data.npz"\nnetwork = { name = "mlp", widths = [5] }\npretraining = { steps = 20 }\n'
        "training = { steps = 200, lr = 0.1 }\nengine.workers = 0\n[methods]\nscratch = {}\nlinear-probe = {}\n"
        "fine-tune = {}\n"
    )
    return file


@pytest.mark.long
def test_a_study_from_run_to_prediction(tmp_path: Path) -> None:
    _study(tmp_path)
    unrun = ask("status", "small.toml")
    assert unrun["studies"] == []
    assert (unrun["file"]["was_run"], unrun["file"]["runs"]["total"]) == (False, 8)
    done = ask("run", "small.toml")
    assert documented("run", done)
    assert done["runs"]["done"] == done["runs"]["total"] == 8
    assert documented("rank", ask("rank", "small.toml", "--scores", "logme", "--scores", "h-score"))
    drawn = ask("papers", "draw", "tahir2024", "fig2", *("--set", "d=10", "--set", "n=8", "--set", "seeds=5"))
    assert documented("papers draw", drawn)
    exported = ask("export", "small.toml", "--out", "net", "--method", "fine-tune")
    assert documented("export", exported)
    assert exported["n_equal"] == exported["n_test"] == 100
    predicted = ask("predict", "net", "npz:data.npz", "--out", "p.csv")
    assert documented("predict", predicted)
    assert predicted["predictions"] == len(Path("p.csv").read_text().splitlines()) - 1
    looked = ["net/model.safetensors", "--data", "npz:data.npz", "--network", "mlp", "--set", "network.widths=5"]
    assert documented("diagnose", ask("diagnose", *looked, "--diagnostics", "class-separation"))


@pytest.mark.long
def test_a_comparison_prints_its_table_and_nothing_else(tmp_path: Path) -> None:
    _study(tmp_path)
    quick = "--labels 40 --steps 100 --seeds 2 --workers 0 --methods linear-probe --set pretraining.steps=20"
    result = ask("compare", "npz:data.npz", "--from", "npz:data.npz", *quick.split())
    assert documented("compare", result)
    assert [row["method"] for row in result["rows"]] == ["scratch", "linear-probe"]
    assert result["rows"] == open_result(result["study"]).to_dict()["rows"]
    assert result["run"]["runs"]["failed"] == 0
    assert all(Path(file).is_file() for file in result["written"])


def test_failed_cells_are_exit_code_1_after_the_document(tmp_path: Path) -> None:
    spec = read_spec(_study(tmp_path))
    with Store.open(spec.store) as store:
        run_study(spec, store, work="study.fake_work:not_finite")
    assert ask("run", "small.toml", code=1)["runs"]["failed"] > 0


@pytest.mark.parametrize(
    "words", ["status absent.toml", "run absent.toml", "rank usps", "run s.toml --workers -1", "show nowhere:x"]
)
def test_a_mistake_is_one_sentence_and_no_document(words: str, call: Call) -> None:
    found = call(*words.split(), "--json")
    assert found.mistake
    assert found.out == ""


def test_what_does_not_exist_is_null_and_infinity_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_json("scaling", {"a": float("nan"), "b": [float("inf"), -float("inf"), 0.1], "c": {"d": "é\udcff"}})
    read = json.loads(capsys.readouterr().out)["result"]
    assert read == {"a": None, "b": ["inf", "-inf", 0.1], "c": {"d": "é\udcff"}}


@pytest.mark.long
def test_what_other_code_prints_does_not_reach_the_standard_output(tmp_path: Path) -> None:
    """Not even what a library writes past Python."""
    code = (
        "import os\ndef loud(input_shape, widths=(3,)):\n    from torch import nn\n    print('hello')\n"
        "    os.write(1, b'bytes')\n    return nn.Sequential(nn.Flatten(), nn.Linear(6, 5))\n"
    )
    (tmp_path / "nets.py").write_text(code)
    typed = ["show", "nets.py:loud", "--shape", "6", "--json"]
    command = [sys.executable, "-m", "transferscope", *typed]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=os.environ | {"COLUMNS": "80"})
    assert (ended.returncode, json.loads(ended.stdout)["result"]["backbone"]["parameters"]) == (0, 35)
    assert "hello" in ended.stderr
    assert "bytes" in ended.stderr
