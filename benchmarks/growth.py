"""How seconds and memory grow with the work: tables, features, stores, results and images of several sizes.

    python -m benchmarks.growth [KIND ...] [--most N] [--turns N] [--figure FILE.svg]

Each size is read in a process of its own, in each of the turns; the least is shown. Seconds are of the processor,
without those of imports; memory is the largest that the process had, libraries included. The exponent is that between
the two largest sizes: 1 is linear. `--most` leaves out what is larger.
"""

import argparse
import csv
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from PIL import Image

from transferscope.store import Store, schema
from transferscope.store.checksums import checksum
from transferscope.store.outcomes import checksum_of
from transferscope.study.plan import plan_study
from transferscope.study.run import plan_into
from transferscope.study.spec import read_spec

RECORDS = 10
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
MEASURED = """
import resource, sys, time
{imports}
begun = time.process_time()
{work}
peak = next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1]
print('SPENT', time.process_time() - begun, int(peak) / 1024, file=sys.stderr)
"""
COMMAND = (
    "from transferscope.cli.main import main\nimport pandas, scipy.stats, sqlalchemy",
    "sys.argv = ['transferscope', *{words!r}.split()]\n"
    "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code",
)
SCORE = (
    "import numpy as np\nfrom transferscope.scores import SCORES, TargetView\nrng = np.random.default_rng(0)\n"
    "labels = rng.integers(0, 10, {n})\n"
    "features = np.maximum(rng.standard_normal(({n}, 64)) + rng.standard_normal((10, 64))[labels], 0)",
    "SCORES[{name!r}].value(TargetView(features, labels))",
)


def table(folder: Path, n: int) -> None:
    """Write 13 columns: eight of numbers, and truth values, dates, towns, codes and labels."""
    random = np.random.default_rng(0)
    columns: dict[str, object] = {f"x{k}": random.normal(10, 5, n).round(6) for k in range(6)}
    columns["count"] = random.integers(0, 50, n)
    columns["gap"] = np.where(random.random(n) < 0.1, "", random.random(n).round(4).astype(str))
    columns["flag"] = np.where(random.random(n) < 0.5, "true", "false")
    columns["day"] = (np.datetime64("2020-01-01") + random.integers(0, 900, n)).astype(str)
    columns["town"] = random.choice(["Rome", "Oslo", "Bonn", "Kyoto", "Lima"], n)
    columns["zip"] = [f"{code:05d}" for code in random.integers(1000, 1060, n)]
    columns["y"] = np.where(np.asarray(columns["x0"]) > 10, "high", "low")
    pd.DataFrame(columns).to_csv(folder / "table.csv", index=False)


def nothing(folder: Path, n: int) -> None:
    """Features are drawn where they are scored."""


def store(folder: Path, n: int) -> None:
    """Make a finished study of about so many cells, each with ten made-up records."""
    study = folder / "large.toml"
    # up to eight methods and 11 numbers of labels: 100 cells a seed, or 12 where there are few
    many = 8 if n >= 1000 else 0
    methods = "\n".join(f'[methods.l2-sp-{i}]\nmethod = "l2-sp"\nbeta = {0.01 * (i + 1):g}' for i in range(many))
    study.write_text(STUDY.format(seeds=n // (100 if many else 12), methods=methods))
    spec = read_spec(study)
    Path(spec.store).parent.mkdir()
    plan = plan_study(spec)
    generator = np.random.default_rng(0)
    with Store.open(spec.store) as kept:
        plan_into(plan, kept)
        with kept._database.write() as connection:
            raw = connection.connection.dbapi_connection
            assert raw is not None
            cursor = raw.cursor()
            numbers = dict(cursor.execute("select key, id from cells").fetchall())
            outcomes, records = [], []
            for cell in plan.cells:
                number = numbers[cell.key]
                level = 0.6 + 0.02 * (len(str(cell.labels["method"])) % 5)
                level += 0.0005 * int(cell.labels.get("n_target") or 0)
                part = "source_test" if cell.role == "pretrain" else "target_test"
                for position, step in enumerate([None, *range(RECORDS - 1)]):
                    value = level + 0.03 * generator.normal() - (0.0 if step is None else 0.01 * (RECORDS - step))
                    records.append((number, position, "accuracy", part, step, value, 0.02, 360, "ok"))
                outcome = (1.0, 10**6, 650, 1000, 10, '{"status": "max_steps"}')
                outcomes.append((number, *outcome, checksum(*outcome), checksum_of(records[-RECORDS:])))
            cursor.executemany(f"insert into outcomes values ({', '.join('?' * 9)})", outcomes)
            cursor.executemany(f"insert into {schema.records.name} values ({', '.join('?' * 9)})", records)
            cursor.execute("update cells set state = 'done'")


def results(folder: Path, n: int) -> None:
    """Write a row for each run of ten arms, two of them without a source, at five numbers of labels."""
    random = np.random.default_rng(0)
    with (folder / "results.csv").open("w", newline="") as file:
        write = csv.writer(file).writerow
        write(["arm", "labels", "seed", "accuracy", "seconds"])
        for i in range(n):
            arm, labels = i % 10, i // 10 % 5
            write(
                [f"arm-{arm}", 10 * 2**labels, i // 50, round(0.6 + 0.01 * arm + 0.03 * random.normal(), 4), 10 + arm]
            )


def images(folder: Path, n: int) -> None:
    """Write so many pictures of 32 x 32 of ten classes."""
    random = np.random.default_rng(0)
    for k in range(10):
        (folder / "photos" / str(k)).mkdir(parents=True)
    for i in range(n):
        pixels = random.integers(0, 256, (32, 32, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / "photos" / str(i % 10) / f"{i}.png", compress_level=0)


LOAD = "import pandas\nimport transferscope.data.readers.tables\nfrom transferscope.data.load import load"
POWERS = {
    "tables": (3.5, 4, 5, 6),
    "pandas": (3.5, 4, 5, 6),
    "features": (4, 5, 6),
    "neighbours": (3, 4, 4.5),
    "stores": (2, 3, 4, 5),
    "reports of stores": (2, 3, 4, 5),
    "results": (3, 4, 5, 6),
    "images": (3, 4, 5),
}
KINDS: dict[str, tuple[str, Callable[[Path, int], None], str, str]] = {
    "tables": ("rows of 13 columns, `load`", table, LOAD, "load('csv:table.csv?label=y')"),
    "pandas": ("the same, `pandas.read_csv`", table, "import pandas", "pandas.read_csv('table.csv')"),
    "features": ("examples of 64 features, LogME", nothing, SCORE[0], SCORE[1].format(name="logme")),
    "neighbours": ("the same, nearest neighbours", nothing, SCORE[0], SCORE[1].format(name="knn")),
    "stores": ("cells, `status`", store, COMMAND[0], COMMAND[1].format(words="status runs/large.sqlite")),
    "reports of stores": (
        "cells, `report --json`",
        store,
        COMMAND[0],
        COMMAND[1].format(words="report large.toml --json"),
    ),
    "results": (
        "rows of finished runs, `report --json`",
        results,
        COMMAND[0],
        COMMAND[1].format(words="report results.csv --without arm-0 arm-1 --json"),
    ),
    "images": ("images of 32 x 32, `load`", images, LOAD, "load('folder:photos')"),
}


def measured(kind: str, n: int) -> tuple[float, float]:
    """Return processor seconds and MiB of one size."""
    _, make, imports, work = KINDS[kind]
    with tempfile.TemporaryDirectory() as name:
        make(Path(name), n)
        script = MEASURED.format(imports=imports.replace("{n}", str(n)), work=work)
        run = [sys.executable, "-c", script]
        ended = subprocess.run(run, cwd=name, env=os.environ, capture_output=True, text=True, check=False)
    spent = [line.split() for line in ended.stderr.splitlines() if line.startswith("SPENT ")]
    if not spent:
        raise SystemExit(f"{kind} of {n} failed: {ended.stderr[-2000:]}")
    return float(spent[0][1]), float(spent[0][2])


def draw(found: dict[str, list[tuple[int, float, float]]], file: Path) -> None:
    """Draw seconds and memory against size, each on logarithmic axes."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for place, (axis, label) in enumerate(zip(axes, ("CPU seconds", "peak memory, MiB"), strict=True), start=1):
        for kind, rows in found.items():
            axis.loglog([row[0] for row in rows], [row[place] for row in rows], "o-", ms=4, label=kind)
        axis.set(xlabel="size", ylabel=label)
        axis.grid(alpha=0.3)
    axes[0].axline((1e4, 0.1), (1e5, 1.0), color="0.6", ls=":", label="linear")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", fontsize=8)
    figure.savefig(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--most", type=float, default=math.inf)
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    sizes = [(kind, round(10**power)) for kind in arguments.kinds for power in POWERS[kind]]
    sizes = [one for one in sizes if one[1] <= arguments.most]
    turns = [{one: measured(*one) for one in sizes} for _ in range(arguments.turns)]
    found: dict[str, list[tuple[int, float, float]]] = {}
    print("| | size | CPU s | MiB | exponent |\n|---|---|---|---|---|")
    for kind in arguments.kinds:
        rows = found[kind] = []
        for n in [size for of, size in sizes if of == kind]:
            rows.append((n, *min(turn[kind, n] for turn in turns)))
            exponent = "" if len(rows) < 2 else f"{math.log(rows[-1][1] / rows[-2][1], rows[-1][0] / rows[-2][0]):.2f}"
            print(f"| {KINDS[kind][0]} | {n:,} | {rows[-1][1]:.2f} | {rows[-1][2]:.0f} | {exponent} |", flush=True)
    if arguments.figure is not None:
        draw(found, arguments.figure)


if __name__ == "__main__":
    main()
