import html
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from cli.called import STUDY, Call
from studies import write_npz
from transferscope.analyses.stored import open_result
from transferscope.models import NetworkSettings, build_network, save_weights
from transferscope.store import Store
from transferscope.study.plan import plan_study
from transferscope.study.spec import read_spec


@pytest.fixture(autouse=True)
def _study(call: Call) -> None:
    Path("digits.toml").write_text(STUDY)


def test_a_study_is_run_and_its_status_shown(call: Call) -> None:
    shown = call("run", "digits.toml", "--workers", 0, "--quiet").out
    assert shown.startswith("digits: 1 of 1 runs done\n")
    assert open_result("digits.toml").verdict.shown in shown
    assert shown.endswith("results: runs/digits.sqlite\nreport:  transferscope report digits.toml\n")
    for place in ("digits.toml", "runs/digits.sqlite"):
        said = call("status", place).out.splitlines()
        assert said[0] == "digits: 1 of 1 runs done"
        (network,) = Path("runs/digits.files").glob("*.safetensors")
        size = f"{network.stat().st_size / 1000:.3g} kB"
        assert said[1:] == [f'  networks on disk: 1 of 1 run ({size}; keep = "winners")']


def test_commands_that_are_printed_can_be_pasted_whatever_the_path(call: Call) -> None:
    file = Path("a & b", "my study.toml")
    file.parent.mkdir()
    file.write_text(STUDY)
    before = call("status", str(file)).out
    after = call("run", str(file), "--workers", 0, "--quiet").out
    written = call("export", str(file), "--out", "a & b/net").out
    for said, verb, path in ((before, "run", file), (after, "report", file), (written, "predict", "a & b/net")):
        (command,) = re.findall(r"transferscope ([^`\n]+)", said)
        assert shlex.split(command)[:2] == [verb, str(path)]


def test_what_the_labels_were_taken_for_is_said_before_anything_runs(call: Call) -> None:
    Path("own.csv").write_text("a,b,y\n" + "".join(f"{i / 4},1,{'xyz'[i % 3]}\n" for i in range(60)))
    Path("digits.toml").write_text(STUDY.replace('"digits"\nlabels', '"csv:own.csv?label=y"\nlabels'))
    first, *_ = call("run", "digits.toml", "--workers", 0).err.splitlines()
    assert first.startswith(f"target: csv:{Path('own.csv').absolute()}?label=y: classification, 3 classes: x, y, z; ")


def test_a_runner_does_its_share_of_a_study_that_is_planned(call: Call) -> None:
    Path("digits.toml").write_text(STUDY.replace("seeds = 1", "seeds = 3"))
    Path("runs").mkdir()
    join = ("run", "digits.toml", "--join")
    with Store.open("runs/digits.sqlite") as store:
        assert "runs/digits.sqlite has no study digits" in call(*join).mistake
        plan = plan_study(read_spec(Path("digits.toml")))
        store.plan(plan.study, plan.cells)
        first = call(*join, "--set", "engine.workers=0", "--runs", 1, "--quiet")
        assert first.out == "this runner: 1 run done\ndigits: 1 of 3 runs done, 2 to do\n"
        rest = call("run", "runs/digits.sqlite", "--join", "--workers", 0, "--quiet")
        assert rest.out == "this runner: 2 runs done\ndigits: 3 of 3 runs done\n"
        result = json.loads(call(*join, "--json").out)["result"]
        assert (result["done_here"], result["failed_here"], result["runs"]["done"]) == (0, 0, 3)


def test_the_store_can_be_chosen(call: Call) -> None:
    said = call("run", "digits.toml", "--workers", 0, "--store", "other/place.sqlite")
    assert "report:  transferscope report other/place.sqlite" in said.out
    with Store.open("other/place.sqlite", create=False) as store:
        assert store.study("digits").spec["store"] == "other/place.sqlite"


def test_failed_cells_are_exit_code_1_and_said_why(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def odd(*_: object) -> None:
        raise ValueError("the number is odd")

    monkeypatch.setattr("transferscope.study.work.work", odd)
    said = call("run", "digits.toml", "--workers", 0, "--quiet")
    assert said.code == 1
    assert said.err == "scratch, 20 labels, seed 0 failed: ValueError: the number is odd\n"
    for shown in (said.out, call("status", "digits.toml").out):
        assert shown.startswith("digits: 0 of 1 runs done, 1 failed\n")
        assert "scratch, 20 labels, seed 0: ValueError: the number is odd\n" in shown


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("steps", "stpes"), "digits.toml: [training] unknown key 'stpes': did you mean 'steps'?"),
        (("[20]", "[5000]"), "[target] labels asks for 5000 examples and digits has 1438 training examples"),
        (("[20]", "[20]\nlimit = 9"), "labels asks for 20 examples and digits, with limit = 9, has 9 training"),
        (('data = "digits"', 'data = "digit"'), "unknown data set 'digit': did you mean 'digits'?"),
        (('"linear"', '"lenet"'), "lenet"),
    ],
)
def test_bad_input_is_exit_code_2_and_nothing_is_begun(call: Call, change: tuple[str, str], message: str) -> None:
    Path("digits.toml").write_text(STUDY.replace(*change))
    found = call("run", "digits.toml")
    assert message in found.mistake
    assert found.out == ""


def test_a_stop_before_anything_was_done_is_said(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call("run", "digits.toml", "--workers", 0, "--quiet").code == 0

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("transferscope.cli.execute.run_study", stopped)
    known = call("run", "digits.toml", "--workers", 0)
    assert (known.code, known.err.splitlines()[0]) == (130, "transferscope: stopped before anything was done")
    nothing = call("run", "digits.toml", "--store", "new.sqlite")
    assert (nothing.code, nothing.err) == (130, "transferscope: stopped before anything was done\n")


@pytest.mark.long
@pytest.mark.usefixtures("call")
def test_the_status_of_an_unchanged_file_needs_no_torch() -> None:
    """In processes of their own: other tests leave folders in the path of this one, where packages could lie."""
    Path("digits.toml").write_text(STUDY + "[engine]\nworkers = 0\n")
    loaded = []
    for command in (["run", "digits.toml", "--quiet"], ["status", "digits.toml"]):
        asked = (
            f"import sys\nsys.argv = ['transferscope', *{command}]\n"
            "from transferscope.cli import main\ntry:\n    main.main()\n"
            "finally:\n    print('torch' in sys.modules)"
        )
        ran = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
        loaded.append(ran.stdout.splitlines()[-1])
    assert loaded == ["True", "False"]


def test_seeds_and_labels_are_asked_for_in_place_of_those_of_the_file(call: Call) -> None:
    asked = ("run", "digits.toml", "--labels", 10)
    said = call(*asked, 30, "--seeds", 2, "--workers", 0)
    assert said.out.startswith("digits: 4 of 4 runs done\n")
    assert "4 of 4" not in said.err  # so that a log of both says it once
    with Store.open("runs/digits.sqlite", create=False) as store:
        found = {(cell.cell.labels["n_target"], cell.cell.labels["seed"]) for cell in store.cells("digits")}
    assert found == {(10, 0), (10, 1), (30, 0), (30, 1)}
    assert "labels" in call(*asked, 10).mistake


PATHS = """
name = "paths"
seeds = 1
{store}
[target]
data = "npz:data/target.npz"
labels = [10]
[sources.table]
data = "csv:table.csv?label=label&test=more.csv"
[sources.net]
network = "net.safetensors"
[network]
name = "mlp"
widths = [4]
[pretraining]
steps = 2
[training]
steps = 2
[methods.scratch]
[methods.linear-probe]
"""


def _study_with_paths(folder: Path, *, store: str = "") -> None:
    """A study file whose every path is relative, and what it names."""
    generator = np.random.default_rng(0)
    (folder / "data").mkdir(parents=True)
    write_npz(folder / "data" / "target.npz", rows=(30, 10), classes=2)
    for name in ("table", "more"):
        rows = "".join(
            f"{','.join(map(str, row))},{'pq'[i % 2]}\n" for i, row in enumerate(generator.normal(size=(20, 4)))
        )
        (folder / f"{name}.csv").write_text(f"a,b,c,d,label\n{rows}")
    save_weights(build_network(NetworkSettings("mlp", widths=(4,)), (4,), 2, seed=0), folder / "net.safetensors")
    (folder / "paths.toml").write_text(PATHS.format(store=store))


@pytest.mark.long
@pytest.mark.parametrize("store", ["", 'store = "own.sqlite"', 'store = "sqlite:///own.sqlite"'])
def test_paths_are_relative_to_the_study_file_from_any_folder_and_after_a_move(
    store: str, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, elsewhere = tmp_path / "a" / "study", tmp_path / "elsewhere"
    elsewhere.mkdir()
    _study_with_paths(study, store=store)
    own = "own.sqlite" if store else "runs/paths.sqlite"
    for folder, name in (
        (elsewhere, "../a/study/paths.toml"),
        (study, "paths.toml"),
        (elsewhere, f"{study}/paths.toml"),
    ):
        monkeypatch.chdir(folder)
        assert "paths: 4 of 4 runs done" in call("run", name, "--workers", 0, "--quiet").out
        assert "edited" not in call("status", name).out
    assert list(elsewhere.iterdir()) == []
    with Store.open(study / own, create=False) as opened:
        keys = {one.cell.key: one.cost for one in opened.cells("paths")}
    assert call("rank", f"{study}/{own}", "--scores", "h-score").code == 0  # whatever the folder is
    shutil.move(tmp_path / "a", tmp_path / "b")
    moved = tmp_path / "b" / "study"
    assert call("run", f"{moved}/paths.toml", "--workers", 0, "--quiet").code == 0
    with Store.open(moved / own, create=False) as opened:
        assert {one.cell.key: one.cost for one in opened.cells("paths")} == keys  # nothing was done again
    assert call("rank", f"{moved}/paths.toml", "--scores", "h-score").code == 0


def test_status_says_what_the_file_asks_for_now(call: Call) -> None:
    said = call("status", "digits.toml").out
    assert said.startswith("digits.toml was not run yet\nas it is now: digits: 0 of 1 runs done, 1 to do; ")
    assert not Path("runs").exists()
    assert call("run", "digits.toml", "--workers", 0, "--quiet", "--set", "engine.keep=none").code == 0
    for change, added, dropped, now in (
        (("seeds = 1", "seeds = 3"), 2, 0, "1 of 3 runs done, 2 to do"),
        (("[20]", "[20, 30]"), 1, 0, "1 of 2 runs done, 1 to do"),
        (("[20]", "[30]"), 1, 1, "0 of 1 runs done, 1 to do"),
        (("steps = 2", "steps = 3"), 1, 1, "0 of 1 runs done, 1 to do"),
    ):
        Path("digits.toml").write_text(STUDY.replace(*change))
        stored, asked, found = call("status", "digits.toml").out.splitlines()
        assert stored == "digits: 1 of 1 runs done"
        assert asked.endswith(f"it asks for {added} more runs and drops {dropped}")
        assert found.startswith(f"as it is now: digits: {now}; ")
    for change in (("name", "# a note\nname"), ("steps = 2", "steps = 2\n[engine]")):
        Path("digits.toml").write_text(STUDY.replace(*change, 1))
        assert "edited" not in call("status", "digits.toml").out
    Path("digits.toml").write_text(STUDY.replace("steps", "stpes"))
    wrong = call("status", "digits.toml")  # what is stored is said before the mistake is
    assert (wrong.code, wrong.out) == (2, "digits: 1 of 1 runs done\n")
    assert "unknown key 'stpes'" in wrong.err


def test_cells_of_an_earlier_plan_count_as_done_when_the_file_asks_for_them_again(call: Call) -> None:
    for text in (STUDY, STUDY.replace("[20]", "[30]")):
        Path("digits.toml").write_text(text)
        assert call("run", "digits.toml", "--workers", 0, "--quiet").code == 0
    Path("digits.toml").write_text(STUDY)
    assert "as it is now: digits: 1 of 1 runs done" in call("status", "digits.toml").out


@pytest.mark.long
def test_a_file_of_weights_is_refused_by_every_command_alike_and_its_share_is_shown(call: Call, tmp_path: Path) -> None:
    _study_with_paths(tmp_path / "study")
    file = tmp_path / "study" / "net.safetensors"
    assert call("run", "study/paths.toml", "--workers", 0, "--quiet").code == 0
    shown = f"{file} gives 20 of the backbone's 20 numbers (100 %)"  # 4 x 4 weights and 4 biases
    assert f"  source net: {shown}\n" in call("status", "study/paths.toml").out
    assert call("report", "study/paths.toml", "--out", "page.html").code == 0
    assert shown in html.unescape(Path("page.html").read_text(encoding="utf-8")).replace("\u00a0", " ")
    whole = load_file(file)
    save_file({name: tensor for name, tensor in whole.items() if name != "features.hidden1.0.bias"}, file)
    lacks = "has 16 of the 20 numbers of the backbone and lacks features.hidden1.0.bias"
    target, options = f"npz:{tmp_path}/study/data/target.npz", ("--network", "mlp", "--set", "network.widths=4")
    for words in (
        ("run", "study/paths.toml", "--workers", "0"),
        ("rank", target, "--from", file, *options, "--labels", "20"),
        ("diagnose", file, "--data", target, *options, "--diagnostics", "class-separation"),
    ):
        assert lacks in call(*words).mistake
    # not the network of the results
    changed = f"the network file {file} has changed since the study was planned with it"
    assert changed in call("rank", "study/paths.toml").mistake
