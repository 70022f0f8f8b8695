"""Processor seconds of a `compare`, by part: imports, question, planning, runs, training, curve, page, workers.

    python benchmarks/command.py [--source FOLDER ...] [--rounds N] [--workers N] [--compare "ARGUMENTS"]

Each FOLDER holds a package `transferscope` (that of this repository if none is given); they take turns, and the least
of N rounds counts. The comparison is of glyphs and digits with 20 labels, three methods and two seeds in one process,
so that runs take little and the command itself is what is measured; or another, as
`--compare "digits --from examples/imagenet.py:efficientnet_lite0 --labels 50"`. What workers do is one number.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

PARTS = ("imports", "question", "planning", "runs", "training", "curve", "page", "workers", "total", "before first run")
INSIDE = """
import json, resource, sys, time

import psutil

spent, first = {}, []

def timed(name, function):
    def call(*args, **kwargs):
        began, before = time.process_time(), sum(spent.values())
        if name == "runs":
            first.append(began)
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
    import transferscope.analyses.compare.study_file as question
    import transferscope.analyses.compare.result
    import transferscope.analyses.compare.study_page as page
    import transferscope.study.run as run
    import transferscope.study.work as work
    from transferscope.training.loop import _Loop

    question.ask = timed("question", question.ask)
    run.run_study = timed("planning", run.run_study)
    work.work = timed("runs", work.work)
    _Loop.run, _Loop._measure = timed("training", _Loop.run), timed("curve", _Loop._measure)
    page.build_report = timed("page", page.build_report)
    begin()

command_line.main = imported
try:
    main()
finally:
    spent["imports"] = time.process_time() - sum(spent.values())
    alive = sum(sum(child.cpu_times()[:4]) for child in psutil.Process().children())  # what workers are forked from
    spent["before first run"] = first[0] if first else float("nan")
    spent["workers"] = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) + alive
    print("SPENT " + json.dumps(spent), file=sys.stderr)
"""
COMPARE = (
    "digits --from glyphs --labels 20 --methods linear-probe raw fine-tune --seeds 2 "
    "--set pretraining.steps=60 --steps 60"
)


def measure(source: Path, compare: str, workers: int) -> dict[str, float]:
    """Seconds by part; what is in none of the others counts as imports."""
    words = ["compare", *shlex.split(compare), "--workers", str(workers), "--trust-code"]
    words = [str(Path(word).absolute()) if ".py:" in word else word for word in words]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", INSIDE, *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": ""},  # or each call compiles anew
            capture_output=True,
            text=True,
            check=False,
        )
    line = next((line for line in done.stderr.splitlines() if line.startswith("SPENT ")), None)
    if done.returncode or line is None:
        raise SystemExit(done.stderr)
    spent = {name: float(value) for name, value in json.loads(line.removeprefix("SPENT ")).items()}
    whole = sum(spent.values()) - spent["before first run"]
    return {**dict.fromkeys(PARTS, 0.0), **spent, "total": whole}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, nargs="+", default=[Path(__file__).parents[1] / "src"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--compare", default=COMPARE)
    arguments = parser.parse_args()
    rounds = [
        [measure(source.absolute(), arguments.compare, arguments.workers) for source in arguments.source]
        for _ in range(arguments.rounds)
    ]
    least = [{part: min(one[i][part] for one in rounds) for part in PARTS} for i in range(len(arguments.source))]
    print("| part | " + " | ".join(map(str, arguments.source)) + " |")
    print("|---" * (len(least) + 1) + "|")
    for part in PARTS:
        seconds = [one[part] for one in least]
        print(f"| {part} | " + " | ".join(f"{value:.2f}" for value in seconds) + " |")


if __name__ == "__main__":
    main()
