"""Real training, killed in the middle: the numbers are those of an uninterrupted run, bit by bit."""

import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from transferscope.store import Store

STUDY = """
name = "digits"
seeds = 2
[target]
data = "digits"
labels = [40]
[sources.flipped]
data = "digits"
transforms = ["upside-down"]
limit = 300
[network]
name = "mlp"
[pretraining]
steps = 800
[training]
steps = 800
[methods.scratch]
[methods.fine-tune]
[methods.merlin]
"""

COMMAND = [sys.executable, "-c", "from transferscope.cli.main import main; main()", "run", "digits.toml", "--quiet"]


def finish(folder: Path, workers: int) -> pd.DataFrame:
    """Run the study to its end; its records."""
    subprocess.run([*COMMAND, "--workers", str(workers)], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    with Store.open(folder / "runs" / "digits.sqlite", create=False) as store:
        return pd.DataFrame(store.records("digits").columns())


def kill_once_busy(folder: Path) -> None:
    """Run the study, and kill it a while after a worker has left a trained network, or the state of a training."""
    with subprocess.Popen([*COMMAND, "--workers", "2"], cwd=folder, stdout=subprocess.DEVNULL) as runner:
        while runner.poll() is None and not list(folder.glob("runs/digits.files/*")):
            time.sleep(0.05)
        time.sleep(0.3)
        runner.kill()


@pytest.mark.slow
def test_real_training_that_was_killed_gives_the_same_numbers(tmp_path: Path) -> None:
    folders = [tmp_path / "whole", tmp_path / "killed"]
    for folder in folders:
        folder.mkdir()
        (folder / "digits.toml").write_text(STUDY)
    for _ in range(3):
        kill_once_busy(folders[1])
    whole, killed = finish(folders[0], 1), finish(folders[1], 2)
    pd.testing.assert_frame_equal(killed, whole, check_exact=True)
