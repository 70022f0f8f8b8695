"""The same numbers, bit by bit, whoever does the cells, in which order, killed or not, with however many threads."""

import os
import random
import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch
from threadpoolctl import threadpool_limits

from transferscope.settings.engine import EngineSettings
from transferscope.store import Store
from transferscope.study.plan import StudyPlan, plan_study
from transferscope.study.run import run_plan
from transferscope.study.spec import parse_spec

STUDY = """
name = "digits"
seeds = 2
[target]
data = "digits"
labels = [300]
[sources.flipped]
data = "digits"
transforms = ["upside-down"]
limit = 900
[network]
name = "mlp"
[pretraining]
steps = 20
batch_size = 256
[training]
steps = 20
batch_size = 256
[methods.fine-tune]
[methods.merlin]
"""
"""MeRLin solves a system of linear equations in every step: with four threads half of its records are others."""

OPTIONS = ("--quiet", "--device", "cpu", "--store", "here.sqlite")
COMMAND = [sys.executable, "-m", "transferscope", "run", "digits.toml", *OPTIONS]


@pytest.fixture(scope="module")
def plan() -> StudyPlan:
    return plan_study(parse_spec(tomllib.loads(STUDY)))


def table(store: Store) -> pd.DataFrame:
    frame = pd.DataFrame(store.records("digits").columns())
    predictions = {key: array.tobytes() for key, array in store.arrays("digits", "predictions").items()}
    frame["predictions"] = frame["key"].map(predictions)
    return frame.sort_values(["key", "name", "part", "step"], ignore_index=True)


def done(plan: StudyPlan, where: Path, workers: int) -> pd.DataFrame:
    with Store.open(where) as store:
        status = run_plan(plan, store, engine=EngineSettings(workers, device="cpu"))
        assert status.counts.done == len(plan.cells)
        return table(store)


@pytest.mark.long
def test_workers_threads_of_the_caller_and_the_order_of_cells_change_nothing(plan: StudyPlan, tmp_path: Path) -> None:
    expected = done(plan, tmp_path / "worker.sqlite", 1)
    before = torch.get_num_threads()
    try:
        for threads in (1, 4):
            torch.set_num_threads(threads)
            with threadpool_limits(threads):
                cells = list(plan.cells)
                random.Random(threads).shuffle(cells)
                shuffled = replace(plan, cells=tuple(cells))
                found = done(shuffled, tmp_path / f"inline{threads}.sqlite", 0)
            pd.testing.assert_frame_equal(found, expected, check_exact=True)
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [None, "4"])
@pytest.mark.parametrize("workers", ["0", "2"])
def test_the_environment_changes_nothing(plan: StudyPlan, threads: str | None, workers: str, tmp_path: Path) -> None:
    expected = done(plan, tmp_path / "inline.sqlite", 0)
    (tmp_path / "digits.toml").write_text(STUDY)
    environment = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    environment |= {} if threads is None else {"OMP_NUM_THREADS": threads}
    pd.testing.assert_frame_equal(run(tmp_path, workers, environment), expected, check_exact=True)


def run(folder: Path, workers: str, environment: dict[str, str] | None = None) -> pd.DataFrame:
    """The study of a folder, run to its end by the command."""
    command = [*COMMAND, "--workers", workers]
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    with Store.open(folder / "here.sqlite", create=False) as store:
        return table(store)


@pytest.mark.slow
def test_training_that_was_killed_gives_the_same_numbers(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
        (folder / "digits.toml").write_text(STUDY.replace("steps = 20", "steps = 200"))
    for _ in range(3):  # a while after a worker has left another trained network, or the state of a training
        before = set(killed.glob("here.files/*"))
        with subprocess.Popen([*COMMAND, "--workers", "2"], cwd=killed, stdout=subprocess.DEVNULL) as runner:
            while runner.poll() is None and before.issuperset(killed.glob("here.files/*")):
                time.sleep(0.05)
            time.sleep(0.3)
            runner.kill()
    pd.testing.assert_frame_equal(run(killed, "2"), run(whole, "1"), check_exact=True)
