"""What other tools leave becomes runs with steps and scores: the same properties hold for every reader and layout."""

import contextlib
import json
import math
import random
import re
import shutil
import sqlite3
import struct
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyses.results.made_by_tools import BEST, CURVES, LAYOUTS, Layout, unpack
from analyses.results.simulated import CONTROLS, WAYS, drawn, scores
from transferscope.analyses.columns import measured_rows
from transferscope.analyses.compare import compare_results
from transferscope.analyses.results.readers import READERS, events, read_place
from transferscope.analyses.results.readers.run import Found, Run, arm_and_seed, frame_of
from transferscope.analyses.results.runs import Runs, read_runs
from transferscope.decision import decide
from transferscope.errors import CorruptDataError, DataError, MissingDataError, SettingsError, TransferscopeError
from transferscope.settings.questions import RunColumns

VALUES = drawn(3, n_seeds=3)
RUNS = [(arm, seed, float(VALUES[at, seed]) / 100) for at, arm in enumerate((*CONTROLS, *WAYS)) for seed in range(3)]
EXPECTED = decide(scores(VALUES))


def _columns(layout: Layout) -> RunColumns:
    return RunColumns(metric=layout.metric, better="higher")


def _read(place: Path, layout: Layout) -> Runs:
    read = read_place(place, layout.metric)
    table = measured_rows(place if read is None else read, of_runs=True)
    return read_runs(table, _columns(layout), ["scratch"], folder=place)


def _scores(runs: Runs) -> dict[tuple[str, int], float | str]:
    """The score of every run, or what became of it."""
    rows = runs.rows.to_dict("records")
    return {(row["method"], row["seed"]): row["score"] if row["state"] == "done" else row["state"] for row in rows}


def has_the_right_scores(runs: Runs, layout: Layout) -> bool:
    return _scores(runs) == {
        run: score if isinstance(score, str) else pytest.approx(score, abs=1e-6) for run, score in layout.right.items()
    }


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_run_has_the_right_score(name: str, tmp_path: Path) -> None:
    layout, place = LAYOUTS[name], unpack(name, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    runs = _read(place, layout)
    assert has_the_right_scores(runs, layout)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before  # nothing is left beside it
    assert not [note for note in runs.notes if "to be run" in note]


@pytest.mark.long
@pytest.mark.filterwarnings("default")  # of the tools
@pytest.mark.parametrize("name", [name for name, layout in LAYOUTS.items() if layout.tool])
def test_what_the_tool_of_today_writes_is_read_so_too(name: str, tmp_path: Path) -> None:
    layout = LAYOUTS[name]
    tool = pytest.importorskip(layout.tool)
    try:  # a torchvision of another torch takes the Trainer down; MLflow's smaller package has no database
        _ = tool.Trainer if layout.tool == "transformers" else None
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"{layout.tool} does not import here: {error}")
    if layout.tool == "mlflow":
        pytest.importorskip("alembic")
    layout.make(tmp_path)
    assert has_the_right_scores(_read(tmp_path / layout.place, layout), layout)


@pytest.mark.parametrize("name", ["trainer, checkpoints alone", "trainer, best model loaded", "mlflow, mlflow.db"])
def test_the_evaluation_that_counts_decides_which_arm_is_best(name: str, tmp_path: Path) -> None:
    layout = LAYOUTS[name]
    found = compare_results(unpack(name, tmp_path), without=["scratch"], columns=_columns(layout))
    arms = {arm.name: arm for arm in found.summary.decided[0].arms}
    best = "scratch" if layout.right is BEST else "pre"
    assert found.summary.decided[0].recommended == best
    assert arms["pre"].n_failed == sum(score == "failed" for score in layout.right.values())


def test_every_reader_has_a_layout_and_none_takes_that_of_another(tmp_path: Path) -> None:
    taken = {}
    for at, name in enumerate(LAYOUTS):
        place = unpack(name, tmp_path / str(at))
        readers = [reader for reader in READERS if reader.holds(place)]
        assert len(readers) == 1, name
        taken[name] = readers[0]
    assert set(map(id, taken.values())) == set(map(id, READERS))
    (tmp_path / "table.csv").write_text("arm,seed,accuracy\nscratch,0,0.5\n")
    assert not [reader for reader in READERS if reader.holds(tmp_path / "table.csv") or reader.holds(tmp_path / "none")]


def _garbled(content: bytes, rng: random.Random) -> bytes:
    at, length = rng.randrange(len(content) + 1), len(content)
    match rng.randrange(6):
        case 0:
            return content[:at]
        case 1:
            return b"".join(bytes([byte ^ rng.randrange(256)]) if rng.random() < 9 / length else bytes([byte])
                            for byte in content)  # fmt: skip
        case 2:
            words = (b"NaN", b"null", b"-", b"[]", b"{}", b"\0", b"1e999", b"\xff\xfe", b'"', b"9" * 400)
            return content[:at] + rng.choice(words) + content[at + rng.randrange(9) :]
        case 3:
            return b""
        case 4:
            lines = content.split(b"\n")
            return b"\n".join(rng.sample(lines, len(lines)))
        case _:
            return rng.randbytes(200)


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("n", [12, pytest.param(60, marks=pytest.mark.long)])
def test_a_damaged_file_ends_in_a_sentence_or_an_answer(name: str, n: int, tmp_path: Path) -> None:
    layout = LAYOUTS[name]
    whole = unpack(name, tmp_path / "whole")
    paths = sorted(path.relative_to(tmp_path / "whole") for path in (tmp_path / "whole").rglob("*") if path.is_file())
    for seed in range(n):
        rng, copy = random.Random(f"{name} {seed}"), tmp_path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(tmp_path / "whole", copy)
        for path in rng.sample(paths, min(len(paths), rng.randrange(1, 4))):
            (copy / path).write_bytes(_garbled((copy / path).read_bytes(), rng))
        with contextlib.suppress(TransferscopeError):
            _read(copy / whole.relative_to(tmp_path / "whole"), layout)


_STEPS = st.lists(st.tuples(st.integers(0, 50), st.floats(-9, 9)), min_size=1, max_size=8, unique_by=lambda one: one[0])


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # on a machine that is busy
@given(_STEPS, _STEPS, st.randoms(use_true_random=False), st.integers(0, 50))
def test_the_order_of_lines_changes_no_score_and_a_row_is_of_one_step(
    scored: list[tuple[int, float]], beside: list[tuple[int, float]], rng: random.Random, best: int
) -> None:
    lines = [(float(step), "accuracy", value) for step, value in scored]
    lines += [(float(step), "loss", value) for step, value in beside]
    lines = rng.sample(lines, len(lines))
    (row,) = frame_of(Found((Run("a", {}, tuple(lines), best=best),)), "accuracy").rows.to_dict("records")
    step = best if best in dict(scored) else max(dict(scored))
    assert row["accuracy"] == dict(scored)[step]
    expected = dict(beside).get(step) if len(beside) > 1 else beside[0][1]
    assert row.get("loss") == expected


def test_the_score_of_a_run_is_final_or_best_or_of_the_later_of_two_lines() -> None:
    def score(*lines: tuple[float | None, float], best: float | None = None) -> float:
        series = tuple((step, "accuracy", value) for step, value in lines)
        return float(frame_of(Found((Run("a", {"arm": "b"}, series, best=best),))).rows["accuracy"].iloc[0])

    assert score((10, 0.1), (20, 0.2), (20, 0.3), (10, 0.4)) == 0.3
    assert score((10, 0.1), (20, 0.2), best=10) == 0.1
    assert score((10, 0.1), (20, 0.2), best=15) == 0.2
    assert score((10, 0.1), (None, 0.5), (20, 0.2), best=10) == 0.5
    assert math.isinf(score((10, 0.1), (20, math.nan)))
    assert math.isinf(score((10, math.nan)))
    assert score((10, math.nan), (20, 0.2)) == 0.2


def _state(place: Path, **changed: object) -> None:
    """The state that a Trainer leaves in its last checkpoint, changed."""
    (path,) = place.glob("checkpoint-30/trainer_state.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))


def test_a_best_step_counts_unless_the_evaluations_deny_it(tmp_path: Path) -> None:
    place = unpack("trainer, best model loaded", tmp_path)
    run = place / "pre" / "seed-0"
    layout = LAYOUTS["trainer, best model loaded"]
    checkpoint = json.loads((run / "checkpoint-30" / "trainer_state.json").read_text())["best_model_checkpoint"]
    assert checkpoint.endswith("checkpoint-30")  # of pre, whose accuracy rises
    other = place / "scratch" / "seed-0"
    first, last = 0.9, CURVES["scratch", 0][2]
    _state(other, best_global_step=None)  # of earlier versions, which name the folder alone
    assert _scores(_read(place, layout))["scratch", 0] == first
    _state(other, best_model_checkpoint=None, best_metric=None)
    assert _scores(_read(place, layout))["scratch", 0] == last
    _state(run, best_global_step=20, best_metric=CURVES["pre", 0][1])
    denied = _read(place, layout)
    assert _scores(denied)["pre", 0] == CURVES["pre", 0][2]
    assert [("pre/seed-0" in note and "contradict" in note) for note in denied.notes] == [True]


def test_the_state_of_the_larger_step_counts_and_of_equal_ones_that_of_the_run(tmp_path: Path) -> None:
    """A state beside checkpoints was saved by hand, later than they, or before training was resumed."""
    place = unpack("trainer, checkpoints alone", tmp_path)
    run, layout = place / "pre" / "seed-0", LAYOUTS["trainer, checkpoints alone"]
    saved = json.loads((run / "checkpoint-30" / "trainer_state.json").read_text())
    for global_step, expected in ((30, 0.95), (20, CURVES["pre", 0][2])):
        history = [*saved["log_history"], {"step": global_step, "eval_accuracy": 0.95}]
        (run / "trainer_state.json").write_text(
            json.dumps(saved | {"global_step": global_step, "log_history": history})
        )
        assert _scores(_read(place, layout))["pre", 0] == expected


def test_a_trainer_that_was_stopped_is_not_finished(tmp_path: Path) -> None:
    place = unpack("trainer, checkpoints alone", tmp_path)
    shutil.rmtree(place / "pre" / "seed-0" / "checkpoint-30")
    stopped = _read(place, LAYOUTS["trainer, checkpoints alone"])
    assert _scores(stopped)["pre", 0] == "planned"
    assert any("pre/seed-0" in note for note in stopped.notes)


def test_both_stores_of_mlflow_are_one_and_artifacts_lead_to_the_database(tmp_path: Path) -> None:
    layout = LAYOUTS["mlflow, mlflow.db"]
    place = unpack("mlflow, mlflow.db", tmp_path)
    (place / "mlruns" / "1" / "0f" / "artifacts").mkdir(parents=True)
    for one in (place, place / "mlflow.db", place / "mlruns"):
        assert has_the_right_scores(_read(one, layout), layout)
    notes = _read(place, layout).notes
    assert sum("deleted" in note for note in notes) == sum("all of pre" in note for note in notes) == 1
    unpack("mlflow, mlruns", tmp_path / "both")
    shutil.copy(place / "mlflow.db", tmp_path / "both" / "mlruns" / "mlflow.db")
    both = read_place(tmp_path / "both" / "mlruns", "test/accuracy")
    assert both is not None
    assert len(both.rows) == 2 * len(layout.right)


def test_the_time_of_a_run_is_from_its_start_to_its_end(tmp_path: Path) -> None:
    """In milliseconds since 1970, as MLflow keeps both."""
    place = unpack("mlflow, mlflow.db", tmp_path / "database")
    with closing(sqlite3.connect(place / "mlflow.db")) as store, store:
        store.execute("UPDATE runs SET start_time = 1795855587100, end_time = 1795855589600")
    folders = unpack("mlflow, mlruns", tmp_path / "folders")
    for meta in folders.glob("*/*/meta.yaml"):
        started = re.sub(r"(?m)^start_time: .*$", "start_time: 1795855587100", meta.read_text())
        meta.write_text(re.sub(r"(?m)^end_time: .*$", "end_time: 1795855589600", started))
    for name, read in (("mlflow, mlflow.db", place), ("mlflow, mlruns", folders)):
        rows = _read(read, LAYOUTS[name]).rows
        assert set(rows.loc[rows["state"] == "done", "seconds"]) == {2.5}


def test_events_are_checked_and_end_where_a_run_was_killed(tmp_path: Path) -> None:
    assert events.masked_crc32c(b"123456789") == (((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) & 0xFFFFFFFF)
    place = unpack("tensorboard, event files", tmp_path)
    path = next((place / "pre" / "seed0").iterdir())
    content, layout = path.read_bytes(), LAYOUTS["tensorboard, event files"]
    values, whole = events.scalars(path)
    assert whole
    assert [(step, tag) for _, step, tag, _ in values] == [(at, "test/accuracy") for at in (10, 30, 20)]
    end = content.rindex(b"test/accuracy")
    path.write_bytes(content[: end + 15])  # within the scalar of the last line, step 20
    cut = _read(place, layout)
    assert has_the_right_scores(cut, layout)
    assert any("seed0" in note and "cut off" in note for note in cut.notes)
    path.write_bytes(content[: end + 15] + bytes([content[end + 15] ^ 1]) + content[end + 16 :])
    with pytest.raises(CorruptDataError, match="checksum"):
        _read(place, layout)


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first, of two's complement in 64 bits (Protocol Buffers, Encoding)."""
    value &= (1 << 64) - 1
    content = b""
    while value > 127:
        content, value = content + bytes([value & 127 | 128]), value >> 7
    return content + bytes([value])


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


@pytest.mark.parametrize("step", [0, 127, 128, 2**40, -1, -300])
@pytest.mark.parametrize(
    "number",
    [
        _varint(2 << 3 | 5) + struct.pack("<f", 0.75),  # simple_value
        _field(8, _varint(1 << 3) + _varint(1) + _field(5, struct.pack("<f", 0.75))),  # a tensor of DT_FLOAT
        _field(8, _varint(1 << 3) + _varint(2) + _field(6, struct.pack("<d", 0.75))),  # of DT_DOUBLE
        _field(8, _varint(1 << 3) + _varint(2) + _field(4, struct.pack("<d", 0.75))),  # its bytes as they are
    ],
    ids=["simple", "float", "double", "bytes"],
)
def test_scalars_of_any_form_and_step_are_read(number: bytes, step: int, tmp_path: Path) -> None:
    scalar = _field(1, _field(1, b"accuracy") + number)
    event = _varint(1 << 3 | 1) + struct.pack("<d", 1.5e9) + _varint(2 << 3) + _varint(step) + _field(5, scalar)
    length = struct.pack("<Q", len(event))
    sums = [struct.pack("<I", events.masked_crc32c(one)) for one in (length, event)]
    (tmp_path / "events").write_bytes(length + sums[0] + event + sums[1])
    assert events.scalars(tmp_path / "events") == ([(1.5e9, step, "accuracy", 0.75)], True)


def test_a_chart_of_groups_of_runs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "chart.csv").write_text('"Step","method: pre - acc","method: pre - acc__MIN"\n"1","0.5","0.4"\n')
    with pytest.raises(DataError, match="without grouping"):
        compare_results(tmp_path / "chart.csv", without=["scratch"])


def _all_results(accuracy: float) -> dict[str, float]:
    """As `Trainer.save_metrics` writes it."""
    return {
        "epoch": 3.0,
        "eval_accuracy": accuracy,
        "eval_loss": 0.41,
        "eval_runtime": 1.7,
        "eval_samples": 872,
        "eval_samples_per_second": 512.0,
        "eval_steps_per_second": 64.1,
        "total_flos": 1e15,
        "train_loss": 0.2,
        "train_runtime": 20.0,
        "train_samples": 600,
        "train_samples_per_second": 88.0,
    }


PATHS = ("{arm}/{seed}", "{arm}/seed-{seed}", "{arm}-seed{seed}", "{arm}_seed_{seed}", "card")


@pytest.mark.parametrize("layout", PATHS)
def test_the_folder_of_a_trainer(layout: str, tmp_path: Path) -> None:
    for arm, seed, accuracy in RUNS:
        run = tmp_path / ("{arm}/run-{letter}" if layout == "card" else layout).format(
            arm=arm, seed=seed, letter="abc"[seed]
        )
        (run / "checkpoint-500").mkdir(parents=True)
        (run / "all_results.json").write_text(json.dumps(_all_results(accuracy)))
        earlier = {"log_history": [{"eval_accuracy": 0.1}]}
        (run / "checkpoint-500" / "trainer_state.json").write_text(json.dumps(earlier))
        if layout == "card":
            (run / "README.md").write_text(f"### Training hyperparameters\n\n- learning_rate: 5e-05\n- seed: {seed}\n")
    without = [f"{arm}/run-{letter}" for arm in CONTROLS for letter in "abc"] if layout == "card" else CONTROLS
    found = compare_results(tmp_path, without=without, columns=RunColumns(metric="eval_accuracy"))
    assert sorted(found.runs.rows["seed"].unique()) == [0, 1, 2]
    assert found.runs.rows["score"].sum() == pytest.approx(VALUES.sum() / 100)
    assert set(found.runs.rows["n_target"]) == {600}
    assert set(found.runs.rows["seconds"]) == {20.0}
    if layout != "card":
        assert found.summary.decided[600].difference == EXPECTED.difference
    with pytest.raises(SettingsError, match="eval_accuracy and eval_loss"):
        compare_results(tmp_path, without=without)


@pytest.mark.parametrize(
    ("path", "arm", "seed"),
    [
        ("bert/seed-3", "bert", "3"),
        ("bert/3", "bert", "3"),
        ("bert-seed3/logs", "bert/logs", "3"),
        ("large/bert.seed=12", "large/bert", "12"),
        ("seed1/bert", "bert", "1"),
        ("bert/lr-0.1", "bert/lr-0.1", None),
        ("gpt-2", "gpt-2", None),
        ("7", "place", "7"),
    ],
)
def test_a_path_names_arm_and_seed(path: str, arm: str, seed: str | None) -> None:
    found = arm_and_seed(Path("place") / path, Path("place"))
    assert (found["arm"], found.get("seed")) == (arm, seed)


def test_folders_that_loggers_name_themselves_are_no_arms(tmp_path: Path) -> None:
    place = unpack("tensorboard, event files", tmp_path)
    for at, run in enumerate(sorted(place.glob("*/*"))):
        own = run / "runs" / f"Nov28_08-45-0{at}_host"
        own.mkdir(parents=True)
        for path in [*run.iterdir()]:
            path.rename(own / path.name) if path.is_file() else None
    layout = LAYOUTS["tensorboard, event files"]
    assert has_the_right_scores(_read(place, layout), layout)
    place = unpack("lightning, CSVLogger", tmp_path / "lightning")
    for path in sorted(place.glob("*/version_*")):
        (path.parent / f"seed{path.name[-1]}").mkdir()
        path.rename(path.parent / f"seed{path.name[-1]}" / "lightning_logs")
    layout = LAYOUTS["lightning, CSVLogger"]
    assert has_the_right_scores(_read(place, layout), layout)


def test_a_number_in_the_name_of_an_arm_is_no_seed(tmp_path: Path) -> None:
    names = ["resnet18", "resnet50", "bert_3", "bert-seed4", "bertseed5"]
    for name in names:
        rows = pd.DataFrame({"Wall time": [1e9], "Step": [0], "Value": [0.5]})
        rows.to_csv(tmp_path / f"run-{name}-tag-accuracy.csv", index=False)
    read = read_place(tmp_path)
    assert read is not None
    assert read.rows.sort_values("seed")["arm"].tolist() == 3 * ["bert"] + ["resnet18", "resnet50"]


def test_a_run_table_that_w_and_b_exported(tmp_path: Path) -> None:
    """Its columns are Name, State, and those of settings and of summaries; a crashed run has no score."""
    rows = [
        {"Name": f"{arm}-{seed}", "State": "finished", "Runtime": 20, "method": arm, "seed": seed, "accuracy": accuracy}
        for arm, seed, accuracy in RUNS
    ]
    rows.append({**rows[-1], "Name": "x", "State": "crashed", "seed": 7, "accuracy": None})
    pd.DataFrame(rows).to_csv(tmp_path / "wandb_export.csv", index=False)
    found = compare_results(tmp_path / "wandb_export.csv", without=CONTROLS)
    assert found.summary.decided[0].outcome == EXPECTED.outcome
    assert [arm.n_failed for arm in found.summary.decided[0].arms] == [0, 0, 0, 0, 1]


def test_a_database_that_is_damaged_or_of_others_is_said(tmp_path: Path) -> None:
    for name, place in (("mlflow, mlflow.db", "mlflow.db"), ("optuna", "study.db")):
        read = unpack(name, tmp_path)
        path = tmp_path / place
        for content in (path.read_bytes()[:3000], b"", b"\0" * 99, b"arm,seed,accuracy\n"):
            path.write_bytes(content)
            with pytest.raises(DataError, match=rf"{place} has no readable runs; .*MLflow or Optuna"):
                compare_results(read, without=["scratch"])


def test_a_place_without_runs(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="there is no"):
        compare_results(tmp_path / "gone")
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(DataError, match="has no readable runs"):
        compare_results(tmp_path)
