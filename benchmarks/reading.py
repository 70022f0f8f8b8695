"""Reading a table as data, beside pandas.read_csv: CPU seconds and the peak of memory.

    python -m benchmarks.reading [ROWS ...]

Each table has 13 columns: eight of numbers, and truth values, dates, towns, codes and labels. Each size is read in a
process of its own.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from transferscope.data.load import load


def write(path: Path, n: int) -> None:
    """A table with a column of each kind."""
    random = np.random.default_rng(0)
    columns: dict[str, object] = {f"x{k}": random.normal(10, 5, n).round(6) for k in range(6)}
    columns["count"] = random.integers(0, 50, n)
    columns["gap"] = np.where(random.random(n) < 0.1, "", random.random(n).round(4).astype(str))
    columns["flag"] = np.where(random.random(n) < 0.5, "true", "false")
    columns["day"] = (np.datetime64("2020-01-01") + random.integers(0, 900, n)).astype(str)
    columns["town"] = random.choice(["Rome", "Oslo", "Bonn", "Kyoto", "Lima"], n)
    columns["zip"] = [f"{code:05d}" for code in random.integers(1000, 1060, n)]
    columns["y"] = np.where(np.asarray(columns["x0"]) > 10, "high", "low")
    pd.DataFrame(columns).to_csv(path, index=False)


def measure(n: int) -> str:
    """A line for one size."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        write(path, n)
        seconds = []
        for read in (lambda: pd.read_csv(path), lambda: load(f"csv:{path}?label=y")):
            started = time.process_time()
            read()
            seconds.append(time.process_time() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"{n:9,} rows: pandas.read_csv {seconds[0]:6.2f} s, load {seconds[1]:6.2f} s, at most {peak:5.0f} MiB"


if __name__ == "__main__":
    sizes = sys.argv[1:] or ["10000", "200000", "1000000"]
    if len(sizes) == 1:
        print(measure(int(sizes[0])))
    else:
        for size in sizes:
            subprocess.run([sys.executable, "-m", "benchmarks.reading", size], check=True)
