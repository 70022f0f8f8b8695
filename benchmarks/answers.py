"""Processor seconds of commands that answer from a store of 12 runs, of several versions of the package in turn.

    python benchmarks/answers.py [--source OLDER/src src] [--rounds 3]

Medians of whole processes; each version is called once before, which compiles it.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

STUDY = """
name = "small"
recipe = "equal"
seeds = 2
[target]
data = "digits"
labels = [10, 20, 40]
[sources.flipped]
data = "digits"
transforms = ["upside-down"]
[network]
name = "linear"
[pretraining]
epochs = 1
[training]
steps = 10
[methods.scratch]
[methods.fine-tune]
"""
COMMANDS = (
    "report small.toml --json",
    "report small.toml --table csv",
    "report small.toml",
    "status runs/small.sqlite",
)


def seconds(command: str, source: Path, folder: str) -> float:
    """Processor seconds of one call."""
    before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": ""}
    words = [sys.executable, "-m", "transferscope", *command.split()]
    subprocess.run(words, cwd=folder, env=environment, capture_output=True, check=True)
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, nargs="+", default=[Path(__file__).parents[1] / "src"])
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    sources = [source.absolute() for source in arguments.source]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "small.toml").write_text(STUDY)
        seconds("run small.toml --quiet", sources[-1], folder)
        print("| command | " + " | ".join(map(str, arguments.source)) + " |\n|---" + "|---" * len(sources) + "|")
        for command in COMMANDS:
            rounds = [[seconds(command, source, folder) for source in sources] for _ in range(arguments.rounds + 1)]
            medians = [statistics.median(values) for values in zip(*rounds[1:], strict=True)]
            print(f"| {command} | " + " | ".join(f"{value:.2f}" for value in medians) + " |", flush=True)


if __name__ == "__main__":
    main()
