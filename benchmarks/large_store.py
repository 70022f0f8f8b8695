"""A large store: what `status`, `report` and a `run` with nothing to do take, and how that grows with the cells.

    python benchmarks/large_store.py [--cells 25000 100000] [--no-report]

The cells are those of a study of digits with many seeds; each has ten made-up records. Aims, with 100,000 cells and a
million records: `status` under 1 s, `report` under 30 s and 2 GiB. Each command is a process of its own; "start" is
that of `transferscope --version`, which all of them need. Memory is the largest that the process had.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from transferscope.store import Store, schema
from transferscope.store.checksums import checksum
from transferscope.store.outcomes import checksum_of
from transferscope.study.plan import plan_study
from transferscope.study.run import plan_into
from transferscope.study.spec import read_spec

RECORDS = 10
METHODS = "\n".join(f'[methods.l2-sp-{i}]\nmethod = "l2-sp"\nalpha = {0.01 * (i + 1):g}' for i in range(8))
STUDY = """
name = "large"
recipe = "equal"
seeds = {seeds}
[target]
data = "digits"
labels = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110]
[sources.flipped]
data = "digits"
transforms = ["upside-down"]
[network]
name = "linear"
[pretraining]
epochs = 1
[training]
steps = 10
[engine]
keep = "none"
[methods.scratch]
{methods}
"""


def fill(folder: Path, n_cells: int) -> Path:
    """A finished study of about so many cells; its file."""
    study = folder / "large.toml"
    study.write_text(STUDY.format(seeds=n_cells // 100, methods=METHODS))
    spec = read_spec(study)
    Path(spec.store).parent.mkdir()
    plan = plan_study(spec)
    generator = np.random.default_rng(0)
    with Store.open(spec.store) as store:
        plan_into(plan, store)
        with store._database.write() as connection:
            raw = connection.connection.dbapi_connection
            assert raw is not None
            cursor = raw.cursor()
            numbers = dict(cursor.execute("select key, id from cells").fetchall())
            outcomes, records = [], []
            for cell in plan.cells:
                number = numbers[cell.key]
                method = str(cell.labels["method"])
                level = 0.6 + 0.02 * (len(method) % 5) + 0.0005 * int(cell.labels.get("n_target") or 0)
                part = "source_test" if cell.role == "pretrain" else "target_test"
                for position, step in enumerate([None, *range(RECORDS - 1)]):
                    value = level + 0.03 * generator.normal() - (0.0 if step is None else 0.01 * (RECORDS - step))
                    records.append((number, position, "accuracy", part, step, value, 0.02, 360, "ok"))
                outcome = (1.0, 10**6, 650, 1000, 10, '{"status": "max_steps"}')
                outcomes.append((number, *outcome, checksum(*outcome), checksum_of(records[-RECORDS:])))
            cursor.executemany(f"insert into outcomes values ({', '.join('?' * 9)})", outcomes)
            cursor.executemany(f"insert into {schema.records.name} values ({', '.join('?' * 9)})", records)
            cursor.execute("update cells set state = 'done'")
    return study


def timed(*arguments: str, folder: Path) -> str:
    """Seconds, processor seconds and largest memory of a command."""
    script = (
        "import resource, sys, time\nbegun = time.perf_counter()\nfrom transferscope.cli.main import main\n"
        "try:\n    main()\nfinally:\n    used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "    peak = next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1]\n"
        "    print(time.perf_counter() - begun, used.ru_utime + used.ru_stime, peak, file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", script, *arguments]
    ran = subprocess.run(command, cwd=folder, env=os.environ, capture_output=True, text=True, check=False)
    try:
        wall, used, memory = map(float, ran.stderr.strip().splitlines()[-1].split())
    except ValueError:
        raise SystemExit(f"{' '.join(arguments)} failed: {ran.stderr}") from None
    return f"{wall:.2f} | {used:.2f} | {memory / 2**20:.2f}"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, nargs="+", default=[25_000, 100_000])
    parser.add_argument("--no-report", action="store_true", help="leave out `report`, which is the slowest")
    options = parser.parse_args()
    commands = {
        "start": ["--version"],
        "status of the store": ["status", "runs/large.sqlite"],
        "status of the study file": ["status", "large.toml"],
        "run with nothing to do": ["run", "large.toml", "--quiet"],
        "run --join with nothing to do": ["run", "large.toml", "--join", "--quiet"],
    }
    if not options.no_report:
        commands["report"] = ["report", "large.toml"]
    lines = ["| cells | command | seconds | processor seconds | GiB |", "|---|---|---|---|---|"]
    for n_cells in options.cells:
        with tempfile.TemporaryDirectory() as name:
            begun = time.perf_counter()
            fill(Path(name), n_cells)
            print(f"{n_cells} cells made in {time.perf_counter() - begun:.0f} s", file=sys.stderr)
            for what, arguments in commands.items():
                lines.append(f"| {n_cells} | {what} | {timed(*arguments, folder=Path(name))} |")
                print(lines[-1], file=sys.stderr, flush=True)
    text = "\n".join(lines)
    print(text)


if __name__ == "__main__":
    main()
