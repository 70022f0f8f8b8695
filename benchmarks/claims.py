"""How fast several runners share one study: cells per second and claims that came too late, on 20,000 empty cells.

    python benchmarks/claims.py [--cells 20000] [--runners 1 2 4 8] [--url postgresql+psycopg://...]

Each runner is a process that claims a cell, does nothing and stores an outcome of two numbers, until none is left.
Without `--url` the store is a SQLite file; a database that is given is emptied first. A look is one query for cells
that are still free; it is lost when every cell that it asks for was taken by another runner meanwhile (aim: under 5 %
with 8 runners).
"""

import argparse
import multiprocessing
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, text

from transferscope.estimate import Estimate
from transferscope.records import Cost, Record
from transferscope.store import Outcome, Owner, PlannedCell, Store, StudyRow, claims

OUTCOME = Outcome((Record("accuracy", Estimate(0.5, 0.1, 100)), Record("loss", Estimate(0.7, 0.1, 100))), Cost())


def plan(place: str, n_cells: int) -> None:
    """A study of empty cells in a new store."""
    labels = [{"method": "empty", "seed": seed} for seed in range(n_cells)]
    cells = [PlannedCell(f"{seed:032x}", "method", labels[seed], {}) for seed in range(n_cells)]
    with Store.open(place) as store:
        store.plan(StudyRow("empty", {}, {}, "2026-01-01T00:00:00+00:00"), cells)


def run(place: str, together: Barrier, results: Any) -> None:
    """One runner."""
    looks = Counter[str]()
    take = claims.take

    def counted(*given: Any, **options: Any) -> Any:
        found = take(*given, **options)
        looks["all"] += 1
        looks["lost"] += not found
        return found

    claims.take = counted
    owner, done = Owner.current(), 0
    with Store.open(place) as store:
        store.counts("empty")
        together.wait()
        begun, process = time.perf_counter(), time.process_time()
        while found := store.claim("empty", owner):
            assert store.finish(found[0].key, OUTCOME, claim=found[0])
            done += 1
        looks["lost"] -= 1  # the last one, when there is nothing left
        results.put((done, looks["all"], looks["lost"], time.perf_counter() - begun, time.process_time() - process))


def measure(place: str, n_cells: int, n_runners: int) -> str:
    """A line of the table."""
    plan(place, n_cells)
    context = multiprocessing.get_context("spawn")
    together, results = context.Barrier(n_runners), context.Queue()
    runners = [context.Process(target=run, args=(place, together, results)) for _ in range(n_runners)]
    for runner in runners:
        runner.start()
    found = [results.get() for _ in runners]
    for runner in runners:
        runner.join()
    done, looks, lost = (sum(column) for column in list(zip(*found, strict=True))[:3])
    assert done == n_cells, f"{done} of {n_cells} cells were done"
    wall, process = max(row[3] for row in found), sum(row[4] for row in found)
    least = min(row[0] for row in found)
    shown = [
        n_runners,
        f"{n_cells / wall:.0f}",
        f"{1000 * process / n_cells:.2f}",
        f"{100 * lost / looks:.2f} %",
        least,
    ]
    return f"| {' | '.join(map(str, shown))} |"


def emptied(url: str) -> str:
    """A PostgreSQL database without tables."""
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("drop schema public cascade"))
        connection.execute(text("create schema public"))
    engine.dispose()
    return url


def table(n_cells: int, runners: Sequence[int], url: str | None) -> str:
    """The measurements as a Markdown table."""
    lines = [
        f"{n_cells} empty cells, {'SQLite' if url is None else url.partition('+')[0]}",
        "",
        "| runners | cells per second | process milliseconds per cell | lost looks | fewest cells of a runner |",
        "|---|---|---|---|---|",
    ]
    for n_runners in runners:
        with tempfile.TemporaryDirectory() as folder:
            place = str(Path(folder) / "claims.sqlite") if url is None else emptied(url)
            lines.append(measure(place, n_cells, n_runners))
    return "\n".join(lines)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=20_000)
    parser.add_argument("--runners", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--url", help="an empty PostgreSQL database; everything in it is deleted")
    options = parser.parse_args()
    found = table(options.cells, options.runners, options.url)
    print(found)


if __name__ == "__main__":
    main()
