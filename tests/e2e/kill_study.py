"""Kill a study with SIGKILL at random moments until it is done, and compare its tables with an uninterrupted run.

`python tests/e2e/kill_study.py [--times 20] [--seed 0] [--url postgresql+psycopg://...]`; the exit code says
whether all tables are equal, bit by bit. The database of a URL is emptied first.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from e2e.small_study import main as run_here
from store.postgresql import emptied
from transferscope.store import Store

_SCRIPT = Path(__file__).with_name("small_study.py")
_WORKER = "spawn_main"  # in the command line of a worker
_SEEDS_PER_KILL = 6  # so much work that a run seldom ends before it is killed


def kill_study(folder: Path, *, times: int, seed: int, url: str | None = None) -> tuple[list[str], bool]:
    """Kill a study in a folder, or in an empty PostgreSQL database, and let it end.

    Returns:
        What was killed each time, and whether the tables are those of an undisturbed run.
    """
    generator = random.Random(seed)
    killed, whole = url or folder / "killed.sqlite", folder / "whole.sqlite"
    n_seeds = str(_SEEDS_PER_KILL * times)
    run = [sys.executable, str(_SCRIPT), str(killed), n_seeds, "log_count", "2", str(folder / "killed.files")]
    victims = [_run_and_kill(run, generator) for _ in range(times)]
    subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
    run_here(str(whole), n_seeds, "count", "0")
    return victims, all(left.equals(right) for left, right in zip(tables(killed), tables(whole), strict=True))


def tables(store: Path | str, name: str = "small") -> list[pd.DataFrame]:
    """Everything of a study that does not depend on the clock."""
    with Store.open(store, create=False) as opened:
        cells = opened.cells(name)
        states = pd.DataFrame({"key": [c.cell.key for c in cells], "state": [c.state for c in cells]})
        records = pd.DataFrame(opened.records(name).columns())
        predictions = pd.DataFrame(opened.arrays(name, "predictions"))
    return [states, records, predictions]


def _run_and_kill(command: list[str], generator: random.Random) -> str:
    """Run the study, and kill a worker or the runner at a random moment; which it was."""
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
        children = psutil.Process(pid).children(recursive=True)
        return [child for child in children if _WORKER in " ".join(child.cmdline())]
    except psutil.NoSuchProcess:
        return []


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--url")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.url is not None:
            emptied(options.url)
        victims, equal = kill_study(Path(folder), times=options.times, seed=options.seed, url=options.url)
    print(f"killed the runner {victims.count('runner')} times, a worker and the runner {victims.count('worker')} times")
    print("the tables are equal" if equal else "the tables differ")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
