"""A study shared by two machines and a PostgreSQL server on a third, as `e2e.machines` makes them of this one.

`python tests/e2e/two_machines.py [share] [folders] [cable] [clock]`, as root, on Linux, with Debian's packages
postgresql, iproute2 and, for `clock`, libfaketime; without a name, all of them in turn. Every table is compared with
that of a run on this machine alone, bit by bit; the exit code says whether all are equal.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pandas as pd
from sqlalchemy import create_engine, text

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from e2e.kill_study import tables
from e2e.machines import Machine, network, postgresql, wait_for
from store.postgresql import emptied

STUDY = """
name = "glyphs"
store = "{store}"
{files}
seeds = 3
[target]
data = "digits"
transforms = ["resize:16"]
labels = [20, 60]
[sources.glyphs]
data = "glyphs?size=16"
limit = 600
[network]
name = "lenet"
[pretraining]
epochs = 2
[training]
steps = 40
[methods.scratch]
[methods.linear-probe]
[methods.fine-tune]
[methods.merlin]
[diagnostics.weights]
"""
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"
LONGER_THAN_A_LEASE = 80.0
COMMAND = [sys.executable, "-m", "transferscope"]


@dataclass(frozen=True)
class Place:
    """The machines, the database, and where files lie."""

    first: Machine
    second: Machine
    url: str
    folder: Path

    def study(self, name: str, *, files: str = "files") -> Path:
        """A study file that all see, for an empty database; its networks lie in a folder that all see."""
        emptied(self.url)
        path = self.folder / name / "study.toml"
        path.write_text(STUDY.format(store=self.url, files=f'files = "{path.parent / files}"'))
        return path

    def attempts(self) -> int:
        """How often cells were begun again."""
        engine = create_engine(self.url)
        with engine.connect() as connection:
            found = connection.scalar(text("select sum(attempt - 1) from cells where attempt > 0"))
        engine.dispose()
        return int(found or 0)


def share(place: Place) -> None:
    """`run` on one machine, `work` on the other, until the study is done."""
    study = place.study("share")
    seen: Counter[str] = Counter()
    with running(place.first, "run", study) as one, running(place.second, "join", study, after=planned(place)) as two:
        while one.poll() is None or two.poll() is None:
            seen += owners(place.url)
            time.sleep(0.2)
    print(f"  looks that found a cell running on each: {dict(seen)}")
    assert set(seen) == {"first", "second"}


def folders(place: Place) -> None:
    """The second machine has a folder of its own under the path of the networks: it is refused, the study ends."""
    study = place.study("folders", files="own")
    with running(place.first, "run", study):
        wait_for("the plan", planned(place))
        other = Machine("third", 5, own={study.parent / "own": place.folder / "other"})
        (place.folder / "other").mkdir()
        with other:
            found = subprocess.run(
                other.command([*COMMAND, "run", str(study), "--join"]), capture_output=True, text=True
            )
    print(f"  exit code {found.returncode}: {found.stderr.strip()}")
    assert found.returncode == 2
    assert "one folder that all machines share" in found.stderr


def cable(place: Place) -> None:
    """The second machine loses the network in the middle of a cell, for longer than a lease."""
    study = place.study("cable")
    with running(place.first, "run", study) as one:
        with running(place.second, "join", study, after=planned(place)) as two:
            wait_for("a cell on the second", lambda: owners(place.url)["second"])
            place.second.pull_cable()
            print(f"  cable pulled; running: {dict(owners(place.url))}")
            time.sleep(LONGER_THAN_A_LEASE)
            print(f"  cable back; running: {dict(owners(place.url))}")
            place.second.plug_in()
            two.wait()
        one.wait()
    print(f"  cells begun again: {place.attempts()}; exit codes {one.returncode}, {two.returncode}")
    print("  " + (study.parent / "second.log").read_text().strip().replace("\n", "\n  "))


def clock(place: Place) -> None:
    """The clock of the second machine is an hour ahead."""
    study = place.study("clock")
    wrong = {"LD_PRELOAD": FAKETIME, "FAKETIME": "+3600s", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    found = subprocess.run(place.second.command(["date", "+%s"]), env={**os.environ, **wrong}, capture_output=True)
    print(f"  the clock of the second is ahead by {int(found.stdout) - time.time():.0f} s")
    with running(place.first, "run", study), running(place.second, "join", study, after=planned(place), env=wrong):
        wait_for("a cell on the second", lambda: owners(place.url)["second"])
    print(f"  cells begun again: {place.attempts()}")
    assert place.attempts() == 0


def owners(url: str) -> Counter[str]:
    """How many cells each machine is doing now."""
    engine = create_engine(url)
    with engine.connect() as connection:
        found = connection.scalars(text("select owner from cells where state = 'running'")).all()
    engine.dispose()
    return Counter(str(owner).partition(" ")[0] for owner in found)


def planned(place: Place) -> Callable[[], bool]:
    """Whether the study is planned."""

    def is_planned() -> bool:
        engine = create_engine(place.url)
        with engine.connect() as connection:
            there = connection.scalar(text("select to_regclass('studies')")) is not None
            found = there and connection.scalar(text("select count(*) from studies"))
        engine.dispose()
        return bool(found)

    return is_planned


@contextmanager
def running(
    machine: Machine,
    role: Literal["run", "join"],
    study: Path,
    *,
    after: Callable[[], bool] | None = None,
    env: Mapping[str, str] | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """A runner of one process on a machine, until it ends; its log is beside the study."""
    if after is not None:
        wait_for("the plan", after)
    log = study.parent / f"{machine.name}.log"
    join = ["--join"] if role == "join" else []
    process = machine.start([*COMMAND, "run", str(study), *join, "--workers=1"], log, env=env)
    try:
        yield process
        process.wait()
    finally:
        process.kill()


def alone(folder: Path) -> list[pd.DataFrame]:
    """The tables of a run on this machine alone, without a network and without workers."""
    study = folder / "alone.toml"
    study.write_text(STUDY.format(store=folder / "alone.sqlite", files=""))
    subprocess.run([*COMMAND, "run", str(study), "--workers=0", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return tables(folder / "alone.sqlite", "glyphs")


def made(folder: Path) -> Path:
    """A folder, made if it is not there."""
    folder.mkdir(exist_ok=True)
    return folder


SCENES = {scene.__name__: scene for scene in (share, folders, cable, clock)}


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", nargs="*", choices=[[], *SCENES], help="what is done; all of it by default")
    chosen = parser.parse_args().scenes or list(SCENES)
    os.environ |= {"PGPASSWORD": "secret", "OMP_NUM_THREADS": "1"}
    equal = True
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        folder.chmod(0o755)
        expected = alone(folder)
        for name in chosen:
            made(folder / name)
            server = Machine("server", 2)
            one, two = (Machine(host, 3 + i) for i, host in enumerate(("first", "second")))
            print(f"{name}: {SCENES[name].__doc__}", flush=True)
            with network(server, one, two), postgresql(server, made(folder / f"{name}.database")) as url:
                SCENES[name](Place(one, two, url, folder))
                same = all(a.equals(b) for a, b in zip(tables(url, "glyphs"), expected, strict=True))
            print(f"  {len(expected[1])} records: {'equal' if same else 'DIFFERENT'}", flush=True)
            equal = equal and same
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
