import html
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from transferscope.analyses.stored import open_result
from transferscope.cli import main
from transferscope.models import NetworkSettings, build_network, save_weights
from transferscope.store import Store
from transferscope.study.spec import StudySpec, read_spec

Call = Callable[..., int]

STUDY = """
name = "digits"
seeds = 1
[target]
data = "digits"
labels = [20]
[network]
name = "linear"
[training]
steps = 2
[methods.scratch]
"""


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """The command line in an empty folder with a study file; its exit code."""
    monkeypatch.chdir(tmp_path)
    Path("digits.toml").write_text(STUDY)

    def run(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["transferscope", *arguments])
        with pytest.raises(SystemExit) as ended:
            main.main()
        return int(ended.value.code or 0)

    return run


def test_a_study_is_run_and_its_status_shown(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("run", "digits.toml", "--workers", "0", "--quiet") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("digits: 1 of 1 cells done\n")
    assert open_result("digits.toml").verdict.shown in shown
    assert shown.endswith("results: runs/digits.sqlite\nreport:  transferscope report digits.toml\n")
    for place in ("digits.toml", "runs/digits.sqlite"):
        assert call("status", place) == 0
        said = capsys.readouterr().out.splitlines()
        assert said[0] == "digits: 1 of 1 cells done"
        (network,) = Path("runs/digits.files").glob("*.safetensors")
        size = f"{network.stat().st_size / 1000:.3g} kB"
        assert said[1:] == [f'  networks on disk: 1 of 1 run ({size}; keep = "winners")']


def test_what_the_labels_were_taken_for_is_said_before_anything_runs(
    call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("own.csv").write_text("a,b,y\n" + "".join(f"{i / 4},1,{'xyz'[i % 3]}\n" for i in range(60)))
    Path("digits.toml").write_text(STUDY.replace('"digits"\nlabels', '"csv:own.csv?label=y"\nlabels'))
    assert call("run", "digits.toml", "--workers", "0") == 0
    assert capsys.readouterr().err.splitlines()[0] == (
        f"target: csv:{Path('own.csv').absolute()}?label=y: classification, 3 classes: x, y, z; 1 feature from 1 "
        "column of numbers; left out: b (always 1)"
    )


def test_status_says_when_merlins_inner_head_predicts_no_better_than_the_mean(
    call: Call, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("transferscope.analyses.compare.cautions.WEAK_INNER_RISK", 0.5)
    noise = np.random.default_rng(0).normal(size=(120, 3))
    rows = [",".join(f"{value:.4f}" for value in row) + f",{'ab'[i % 2]}\n" for i, row in enumerate(noise)]
    Path("noise.csv").write_text("a,b,c,y\n" + "".join(rows))
    study = STUDY.replace('"digits"\nlabels = [20]', '"csv:noise.csv?label=y"\nlabels = [64]')
    study = study.replace('"linear"', '"mlp"\nwidths = [8]') + "[methods.merlin]\nsource_term = false\n"
    Path("digits.toml").write_text(study)
    assert call("run", "digits.toml", "--workers", "0", "--quiet") == 0
    capsys.readouterr()
    assert call("status", "digits.toml") == 0
    assert "\n  In 1 run of merlin with 64 labels the inner head predicted no better" in capsys.readouterr().out


def test_the_store_can_be_chosen(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("run", "digits.toml", "--workers", "0", "--store", "other/place.sqlite") == 0
    assert "report:  transferscope report other/place.sqlite" in capsys.readouterr().out
    with Store.open("other/place.sqlite", create=False) as store:
        assert store.study("digits").spec["store"] == "other/place.sqlite"


def test_failed_cells_are_exit_code_1_and_said_why(
    call: Call, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def odd(*_: object) -> None:
        raise ValueError("the number is odd")

    monkeypatch.setattr("transferscope.study.work.work", odd)
    assert call("run", "digits.toml", "--workers", "0", "--quiet") == 1
    output = capsys.readouterr()
    assert output.err == "scratch, 20 labels, seed 0 failed: ValueError: the number is odd\n"
    assert "\nscratch, 20 labels, seed 0: ValueError: the number is odd\n" in output.out
    assert call("status", "digits.toml") == 0
    assert capsys.readouterr().out == (
        "digits: 0 of 1 cells done, 1 failed\n  scratch, 20 labels, seed 0: ValueError: the number is odd\n"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("steps", "stpes"), "digits.toml: [training] unknown key 'stpes': did you mean 'steps'?"),
        (("[20]", "[5000]"), "[target] labels asks for 5000 examples and digits has 1438 training examples"),
        (('data = "digits"', 'data = "digit"'), "unknown data set 'digit': did you mean 'digits'?"),
        (('"linear"', '"lenet"'), "lenet"),
    ],
)
def test_bad_input_is_exit_code_2_and_nothing_is_begun(
    call: Call, change: tuple[str, str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("digits.toml").write_text(STUDY.replace(*change))
    assert call("run", "digits.toml") == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"transferscope: {message}") or message in said.err
    assert said.err.count("\n") == 1


def test_a_finished_study_is_not_planned_again_until_something_changes(
    call: Call, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study = STUDY + "[engine]\nbackend = 'inline'\n"
    Path("digits.toml").write_text(study)
    assert call("run", "digits.toml", "--quiet") == 0
    said = capsys.readouterr().out
    calls: list[str] = []

    def planned(*_: object, **__: object) -> None:
        calls.append("run")
        raise KeyboardInterrupt

    def read(path: Path) -> StudySpec:
        calls.append("read")
        return read_spec(path)

    monkeypatch.setattr("transferscope.cli.execute.run_study", planned)
    monkeypatch.setattr("transferscope.study.planners.read_spec", read)
    assert call("run", "digits.toml", "--quiet") == 0
    assert capsys.readouterr().out == said
    assert call("status", "digits.toml") == 0
    capsys.readouterr()
    assert call("run", "digits.toml", "--json") == 0
    assert json.loads(capsys.readouterr().out)["result"]["cells"]["done"] == 1
    assert calls == []
    assert call("run", "digits.toml", "--workers", "0") == 130
    Path("digits.toml").write_text(study.replace("seeds = 1", "seeds = 2"))
    assert call("status", "digits.toml") == 0
    assert "asks for 1 more cells" in capsys.readouterr().out
    assert call("run", "digits.toml") == 130
    assert calls == ["read", "run", "read", "read", "run"]


@pytest.mark.long
@pytest.mark.usefixtures("call")
def test_a_finished_study_needs_no_torch() -> None:
    """In processes of their own: other tests leave folders in the path of this one, where packages could lie."""
    Path("digits.toml").write_text(STUDY + "[engine]\nbackend = 'inline'\n")
    loaded = []
    for command in (["run", "digits.toml", "--quiet"], ["run", "digits.toml"], ["status", "digits.toml"]):
        asked = (
            f"import sys\nsys.argv = ['transferscope', *{command}]\n"
            "from transferscope.cli import main\ntry:\n    main.main()\n"
            "finally:\n    print('torch' in sys.modules)"
        )
        ran = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
        loaded.append(ran.stdout.splitlines()[-1])
    assert loaded == ["True", "False", "False"]


def test_seeds_and_labels_are_asked_for_in_place_of_those_of_the_file(
    call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("run", "digits.toml", "--workers", "0", "--quiet", "--seeds", "2", "--labels", "10", "30") == 0
    assert capsys.readouterr().out.startswith("digits: 4 of 4 cells done\n")
    with Store.open("runs/digits.sqlite", create=False) as store:
        found = {(cell.cell.labels["n_target"], cell.cell.labels["seed"]) for cell in store.cells("digits")}
    assert found == {(10, 0), (10, 1), (30, 0), (30, 1)}
    assert call("run", "digits.toml", "--labels", "10", "10") == 2
    assert "labels" in capsys.readouterr().err


def test_an_interruption_before_the_first_cell_is_exit_code_130(
    call: Call, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("transferscope.cli.execute.run_study", interrupt)
    assert call("run", "digits.toml") == 130
    assert capsys.readouterr().err == "transferscope: stopped before anything was done\n"


def test_a_missing_study_is_exit_code_2(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("run", "status"):
        assert call(command, "no.toml") == 2
        assert capsys.readouterr().err == (
            "transferscope: there is no study file no.toml; give the path of a TOML file\n"
        )


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
    x, y = generator.normal(size=(40, 4)), np.arange(40) % 2
    np.savez(folder / "data" / "target.npz", x_train=x[:30], y_train=y[:30], x_test=x[30:], y_test=y[30:])
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
    store: str, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
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
        assert call("run", name, "--workers", "0", "--quiet") == 0
        assert "paths: 4 of 4 cells done" in capsys.readouterr().out
        assert call("status", name) == 0
        assert "edited" not in capsys.readouterr().out
    assert list(elsewhere.iterdir()) == []
    with Store.open(study / own, create=False) as opened:
        keys = {one.cell.key: one.cost for one in opened.cells("paths")}
    assert (
        call("rank", f"{study}/{own}", "--scores", "h-score") == 0
    )  # what the store holds does not depend on the folder
    shutil.move(tmp_path / "a", tmp_path / "b")
    moved = tmp_path / "b" / "study"
    assert call("run", f"{moved}/paths.toml", "--workers", "0", "--quiet") == 0
    with Store.open(moved / own, create=False) as opened:
        assert {one.cell.key: one.cost for one in opened.cells("paths")} == keys  # nothing was done again
    assert call("rank", f"{moved}/paths.toml", "--scores", "h-score") == 0


def test_status_says_what_the_file_asks_for_now(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("status", "digits.toml") == 0
    assert capsys.readouterr().out == (
        "digits.toml was not run yet\n"
        "as it is now: digits: 0 of 1 cells done, 1 to do; `transferscope run digits.toml` does the rest\n"
    )
    assert not Path("runs").exists()
    assert call("run", "digits.toml", "--workers", "0", "--quiet", "--keep", "none") == 0
    capsys.readouterr()
    for change, added, dropped, now in (
        (("seeds = 1", "seeds = 3"), 2, 0, "1 of 3 cells done, 2 to do"),
        (("[20]", "[20, 30]"), 1, 0, "1 of 2 cells done, 1 to do"),
        (("[20]", "[30]"), 1, 1, "0 of 1 cells done, 1 to do"),
        (("steps = 2", "steps = 3"), 1, 1, "0 of 1 cells done, 1 to do"),
    ):
        Path("digits.toml").write_text(STUDY.replace(*change))
        assert call("status", "digits.toml") == 0
        assert capsys.readouterr().out == (
            "digits: 1 of 1 cells done\n"
            f"digits.toml was edited since it was run: it asks for {added} more cells and drops {dropped}\n"
            f"as it is now: digits: {now}; `transferscope run digits.toml` does the rest\n"
        )
    for change in (
        ("name", "# a note\nname"),
        ('"linear"', '"linear"\nwidths = []'),
        ("steps = 2", "steps = 2\n[engine]"),
    ):
        Path("digits.toml").write_text(STUDY.replace(*change, 1))
        assert call("status", "digits.toml") == 0
    capsys.readouterr()
    Path("digits.toml").write_text(STUDY.replace("steps", "stpes"))
    assert call("status", "digits.toml") == 2  # what is stored is said before the mistake is
    said = capsys.readouterr()
    assert said.out == "digits: 1 of 1 cells done\n"
    assert "unknown key 'stpes'" in said.err


def test_cells_of_an_earlier_plan_count_as_done_when_the_file_asks_for_them_again(
    call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in (STUDY, STUDY.replace("[20]", "[30]")):
        Path("digits.toml").write_text(text)
        assert call("run", "digits.toml", "--workers", "0", "--quiet") == 0
    Path("digits.toml").write_text(STUDY)
    capsys.readouterr()
    assert call("status", "digits.toml") == 0
    assert "as it is now: digits: 1 of 1 cells done" in capsys.readouterr().out


@pytest.mark.long
def test_a_file_of_weights_is_refused_by_every_command_alike_and_its_share_is_shown(
    call: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _study_with_paths(tmp_path / "study")
    file = tmp_path / "study" / "net.safetensors"
    assert call("run", "study/paths.toml", "--workers", "0", "--quiet") == 0
    assert call("status", "study/paths.toml") == 0
    shown = f"{file} gives 20 of the backbone's 20 numbers (100 %)"  # 4 x 4 weights and 4 biases
    assert f"  source net: {shown}\n" in capsys.readouterr().out
    assert call("report", "study/paths.toml", "--out", "page.html") == 0
    assert shown in html.unescape(Path("page.html").read_text(encoding="utf-8")).replace("\u00a0", " ")

    whole = load_file(file)
    save_file({name: tensor for name, tensor in whole.items() if name != "features.hidden1.0.bias"}, file)
    capsys.readouterr()
    lacks = (
        "it gives 16 of the 20 numbers of the backbone and lacks features.hidden1.0.bias; all are needed. It was read"
    )
    target, options = f"npz:{tmp_path}/study/data/target.npz", ("--network", "mlp", "--widths", "4")
    for words in (
        ("run", "study/paths.toml", "--workers", "0"),
        ("rank", target, "--from", str(file), *options, "--labels", "20"),
        ("diagnose", str(file), "--data", target, *options, "--diagnostics", "class-separation"),
    ):
        assert call(*words) == 2
        assert lacks in capsys.readouterr().err
    for later in (
        ("rank", "study/paths.toml"),
        ("papers", "draw", "tahir2024", "placement", "--study", "study/paths.toml"),
    ):  # not the network of the results
        assert call(*later) == 2
        assert f"the network file {file} has changed since the study was planned with it" in capsys.readouterr().err
