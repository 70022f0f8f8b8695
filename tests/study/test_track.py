"""Trackers follow the store: every cell once, whatever was interrupted, and never in the way of a study."""

import logging
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from study.plans import small_plan
from transferscope.errors import MissingExtraError, SettingsError
from transferscope.settings.engine import EngineSettings, TrackSettings
from transferscope.store import Store
from transferscope.study.run import run_plan, run_study
from transferscope.study.spec import parse_spec, read_spec
from transferscope.study.track import Tracked, follow, followed
from transferscope.study.track.follow import tracked_runs

TABLES: dict[str, Any] = {
    "name": "s",
    "target": {"data": "digits"},
    "training": {"steps": 3},
    "methods": {"scratch": {}},
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "s.sqlite") as opened:
        yield opened


def do(store: Store, *, seeds: int = 2, work: str = "count") -> str:
    """A study of fake work; its name."""
    plan = small_plan(seeds)
    run_plan(plan, store, engine=EngineSettings(workers=0), work=f"study.fake_work:{work}")
    return plan.study.name


@dataclass
class Memory:
    """A tracker in memory, which may raise."""

    ids: dict[str, Tracked] = field(default_factory=dict)
    fails_at: int = -1

    def has(self, run_id: str) -> bool:
        return run_id in self.ids

    def add(self, run: Tracked) -> None:
        if len(self.ids) == self.fails_at:
            raise ConnectionError("the server is away\nfor a while")
        assert run.id not in self.ids
        self.ids[run.id] = run


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    """What stands in for MLflow."""
    tracker = Memory()
    monkeypatch.setattr(follow, "_tracker", lambda *_: tracker)
    monkeypatch.setattr(follow, "find_spec", lambda name: name)
    return tracker


MLFLOW = TrackSettings(mlflow="runs")


def test_every_cell_is_sent_once_with_all_its_numbers(store: Store, memory: Memory) -> None:
    for _ in range(2):  # the second time nothing is new
        with followed(MLFLOW, store, "small"):
            name = do(store)
    assert name == "small"
    done = {cell.cell.key: cell for cell in store.cells(name) if cell.state == "done"}
    assert memory.ids.keys() == done.keys()
    records = store.records(name)
    for key, run in memory.ids.items():
        own = [
            (f"{part}/{record}", step, value)
            for cell, part, record, step, value in zip(
                records.key, records.part, records.name, records.step, records.value.tolist(), strict=True
            )
            if cell == key
        ]
        assert [number for number in run.numbers if not number[0].startswith("cost/")] == own
        assert ("cost/seconds", None, 0.001) in run.numbers
        labels = {name: value for name, value in done[key].cell.labels.items() if value is not None}
        assert run.settings.items() >= labels.items()
        assert run.failure is None


def test_a_failed_cell_is_sent_as_one_and_again_when_it_is_done(store: Store, memory: Memory) -> None:
    with followed(MLFLOW, store, "small"):
        name = do(store, work="not_finite")
    failed = {run.id for run in memory.ids.values() if run.failure is not None}
    assert failed
    assert all(run_id.endswith("-failed") for run_id in failed)
    store.retry_failed(name)
    with followed(MLFLOW, store, "small"):
        do(store)
    assert {run_id.removesuffix("-failed") for run_id in failed} <= memory.ids.keys()


def test_a_tracker_that_fails_is_said_once_and_stops_nothing(
    store: Store, memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    memory.fails_at = 1
    with caplog.at_level(logging.WARNING), followed(MLFLOW, store, "small"):
        name = do(store)
    counts = store.counts(name)
    assert counts.done == counts.total
    assert [record.getMessage() for record in caplog.records] == [
        "the tracker mlflow is left out from here on: the server is away; the study continues, and its store has "
        "everything"
    ]
    memory.fails_at = -1
    with followed(MLFLOW, store, "small"):  # the next run sends the rest
        pass
    assert len(memory.ids) == counts.total


def test_a_study_that_is_stopped_does_not_wait_for_trackers(
    store: Store, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "_CANCEL_SECONDS", 0.01)
    with pytest.raises(KeyboardInterrupt), followed(MLFLOW, store, "small"):
        raise KeyboardInterrupt


def test_a_package_that_is_missing_is_said_before_anything_is_done(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"^\[track\] mlflow needs .*: pip install 'transferscope\[mlflow\]'$"):
        run_study(parse_spec({**TABLES, "track": {"mlflow": "runs"}}), store)
    assert store.studies() == []


def test_trackers_change_no_cell_and_no_study(tmp_path: Path) -> None:
    plain, tracked = parse_spec(TABLES), parse_spec({**TABLES, "track": {"tensorboard": "tb", "wandb": "me/mine"}})
    assert tracked.track == TrackSettings(tensorboard="tb", wandb="me/mine")
    assert tracked.as_json() == plain.as_json()
    file = tmp_path / "s.toml"
    text = 'name = "s"\ntarget.data = "digits"\ntraining.steps = 3\nmethods.scratch = {}\n[track]\n'
    file.write_text(f'{text}mlflow = "runs/ml"\ntensorboard = "tb"\nwandb = "me/mine"\n')
    assert read_spec(file).track == TrackSettings(str(tmp_path / "runs/ml"), str(tmp_path / "tb"), "me/mine")
    file.write_text(f'{text}mlflow = "https://me:secret@host/x"\n')
    found = read_spec(file)
    assert found.track.mlflow == "https://me:secret@host/x"
    assert "secret" not in str(found.as_json())
    assert tomllib.loads(file.read_text())["track"]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({}, r'\[track\] has no tracker; give one, as in mlflow = "mlruns"$'),
        ({"mlflow": " "}, r"\[track\] mlflow = ' ' is empty; give a folder, an address or a project$"),
        ({"mlfow": "x"}, r"\[track\] unknown key 'mlfow': did you mean 'mlflow'"),
        ({"wandb": 3}, r"\[track\] wandb = 3 is of the wrong type; expected text in quotes"),
    ],
)
def test_a_wrong_table_is_said(table: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        parse_spec({**TABLES, "track": table})


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # of MLflow's own
def test_mlflow_has_a_run_for_every_cell(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # which the tracker would leave set
    from mlflow.tracking import MlflowClient

    place = TrackSettings(mlflow=str(tmp_path / "mlruns"))
    client = MlflowClient(tracking_uri=(tmp_path / "mlruns").as_uri())
    number = client.create_experiment("small")
    client.create_run(number, tags={"transferscope.cell": "of a process that was killed"})
    for _ in range(2):
        with followed(place, store, "small"):
            name = do(store)
    runs = client.search_runs([number])
    expected = {run.id: run for run in tracked_runs(store, name)}
    assert sorted(run.data.tags["transferscope.cell"] for run in runs) == sorted(expected)
    for run in runs:
        own = expected[run.data.tags["transferscope.cell"]]
        assert run.info.status == "FINISHED"
        assert run.info.run_name == own.name
        assert run.data.params == {key: str(value) for key, value in own.settings.items()}
        curve = client.get_metric_history(run.info.run_id, "target_test/accuracy")
        assert sorted((point.step, point.value) for point in curve) == sorted(
            (10 if step is None else step, value) for key, step, value in own.numbers if key == "target_test/accuracy"
        )


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # of TensorBoard's own
def test_tensorboard_has_a_folder_for_every_cell(store: Store, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for _ in range(2):
        with followed(TrackSettings(tensorboard=str(tmp_path / "tb")), store, "small"):
            name = do(store, seeds=1)
    folders = list((tmp_path / "tb" / "small").iterdir())
    runs = tracked_runs(store, name)
    assert len(folders) == len(runs)
    for run in runs:
        (folder,) = (path for path in folders if path.name.endswith(f"~{run.id[:16]}"))
        events = EventAccumulator(str(folder)).Reload()
        points = sorted((event.step, event.value) for event in events.Scalars("target_test/accuracy"))
        shown = sorted((10 if step is None else step, value) for key, step, value in run.numbers if "accuracy" in key)
        assert [step for step, _ in points] == [step for step, _ in shown]
        assert [value for _, value in points] == pytest.approx([value for _, value in shown])


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # of W&B's own
def test_wandb_keeps_a_run_for_every_cell_on_the_disk(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    for _ in range(2):
        with followed(TrackSettings(wandb="transferscope-tests"), store, "small"):
            name = do(store, seeds=1)
    runs = tracked_runs(store, name)
    assert (store.files / "tracked-by-wandb.txt").read_text().split() == [run.id for run in runs]
    kept = [path.name for path in (store.files / "wandb").glob("offline-run-*")]
    assert sorted(name.rpartition("-")[2] for name in kept) == sorted(run.id for run in runs)
