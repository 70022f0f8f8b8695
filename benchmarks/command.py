"""Processor seconds of a small `compare`, by part: imports, question, runs and planning, page, worker processes.

    python benchmarks/command.py [--source FOLDER ...] [--rounds N] [--workers N]

Each FOLDER holds a package `transferscope` (that of this repository if none is given); they take turns, and the least
of N rounds counts. The comparison is of glyphs and digits with 20 labels, three methods, two seeds and one worker, or
as many as asked, so that runs take little and the command itself is what is measured.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PARTS = ("imports", "question", "runs", "page", "workers")
INSIDE = """
import json, resource, sys, time

import psutil

spent, inside = {}, []

def timed(name, function):
    def call(*args, **kwargs):
        began, before = time.process_time(), sum(spent.values())
        try:
            return function(*args, **kwargs)
        finally:
            within = sum(spent.values()) - before
            spent[name] = spent.get(name, 0.0) + time.process_time() - began - within
    return call

import transferscope.cli.main as command_line
from transferscope.__main__ import main

begin = command_line.main

def imported():
    import transferscope.analyses.compare.ask as question
    import transferscope.analyses.compare.result
    import transferscope.analyses.compare.study_page as page
    import transferscope.study.run as run

    question.ask = timed("question", question.ask)
    run.run_study = timed("runs", run.run_study)
    page.build_report = timed("page", page.build_report)
    begin()

command_line.main = imported
try:
    main()
finally:
    spent["imports"] = time.process_time() - sum(spent.values())
    alive = sum(sum(child.cpu_times()[:4]) for child in psutil.Process().children())  # what workers are forked from
    spent["workers"] = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) + alive
    print("SPENT " + json.dumps(spent), file=sys.stderr)
"""
COMPARE = (
    "compare digits --from glyphs --labels 20 --methods linear-probe raw fine-tune --seeds 2 "
    "--set pretraining.steps=60 --steps 60 --workers"
)


def measure(source: Path, workers: int) -> dict[str, float]:
    """Seconds by part; what is in none of the others counts as imports."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", INSIDE, *COMPARE.split(), str(workers)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": ""},  # or each call compiles anew
            capture_output=True,
            text=True,
            check=True,
        )
    line = next(line for line in done.stderr.splitlines() if line.startswith("SPENT "))
    return {name: float(value) for name, value in json.loads(line.removeprefix("SPENT ")).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, nargs="+", default=[Path(__file__).parents[1] / "src"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    rounds = [
        [measure(source.absolute(), arguments.workers) for source in arguments.source] for _ in range(arguments.rounds)
    ]
    least = [{part: min(one[i][part] for one in rounds) for part in PARTS} for i in range(len(arguments.source))]
    print("| part | " + " | ".join(map(str, arguments.source)) + " | ratio |")
    print("|---" * (len(least) + 2) + "|")
    for part in PARTS:
        seconds = [one[part] for one in least]
        print(f"| {part} | " + " | ".join(f"{value:.2f}" for value in seconds) + f" | {seconds[-1] / seconds[0]:.2f} |")


if __name__ == "__main__":
    main()
