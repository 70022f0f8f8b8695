"""Kill a study with SIGKILL at random moments until it is done, and compare its tables with an uninterrupted run.

`python tests/e2e/kill_study.py [--times 20] [--seed 0]`; the exit code says whether all tables are equal, bit by bit.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from e2e.small_study import main as run_here
from transferscope.store import Store

_SCRIPT = Path(__file__).with_name("small_study.py")
_SEEDS_PER_KILL = 6  # so much work that a run seldom ends before it is killed


@dataclass(frozen=True)
class Kills:
    """How often a study was killed, and what became of it.

    Attributes:
        of_runner: Kills of the process that runs the study.
        of_workers: Kills of one of its workers.
        equal: Whether the tables are those of an uninterrupted run.
    """

    of_runner: int
    of_workers: int
    equal: bool


def kill_study(folder: Path, *, times: int, seed: int) -> Kills:
    """Kill a study `times` times, let it end, and compare.

    Args:
        folder: Where the two stores go.
        times: How often, at least 1.
        seed: Seed of moments and victims.
    """
    generator = random.Random(seed)
    killed, whole = folder / "killed.sqlite", folder / "whole.sqlite"
    n_seeds = str(_SEEDS_PER_KILL * times)
    victims = [_run_and_kill(killed, n_seeds, generator) for _ in range(times)]
    subprocess.run([sys.executable, _SCRIPT, killed, n_seeds], check=True, stdout=subprocess.DEVNULL)
    run_here(str(whole), n_seeds, "count", "0")
    equal = all(left.equals(right) for left, right in zip(tables(killed), tables(whole), strict=True))
    return Kills(victims.count("runner"), victims.count("worker"), equal)


def tables(store: Path) -> list[pd.DataFrame]:
    """Everything of a study that does not depend on the clock."""
    with Store.open(store, create=False) as opened:
        cells = opened.cells("small")
        states = pd.DataFrame({"key": [c.cell.key for c in cells], "state": [c.state for c in cells]})
        records = pd.DataFrame(opened.records("small").columns())
        predictions = pd.DataFrame(opened.arrays("small", "predictions"))
    return [states, records, predictions]


def _run_and_kill(store: Path, n_seeds: str, generator: random.Random) -> str:
    """Run the study, and kill a worker or the runner at a random moment; which it was."""
    command = [sys.executable, str(_SCRIPT), str(store), n_seeds]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as runner:
        assert runner.stdout is not None
        if generator.random() < 0.9:  # else at some moment of the start
            any("running=0" not in line for line in runner.stdout)
        time.sleep(generator.uniform(0.0, 1.0))
        victim = "runner"
        workers = _workers(runner.pid)
        if workers and generator.random() < 0.5:
            victim = "worker"
            generator.choice(workers).kill()
            time.sleep(generator.uniform(0.0, 0.5))
        runner.kill()
    return victim


def _workers(pid: int) -> list[psutil.Process]:
    try:
        children = psutil.Process(pid).children()
        return [child for child in children if "spawn_main" in " ".join(child.cmdline())]
    except psutil.NoSuchProcess:
        return []


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kills = kill_study(Path(folder), times=options.times, seed=options.seed)
    print(f"killed the runner {kills.of_runner} times, a worker and the runner {kills.of_workers} times")
    print("the tables are equal" if kills.equal else "the tables differ")
    return 0 if kills.equal else 1


if __name__ == "__main__":
    sys.exit(main())
