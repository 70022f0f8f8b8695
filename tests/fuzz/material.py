"""What inputs are made from: small data sets, weights and a finished study, made once."""

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from fuzz.sandbox import Sandbox
from studies import write_npz

Tables = dict[str, dict[str, str]]
"""A study file: by table, by key, each value as it stands in the file; "" is the top."""


@dataclass(frozen=True)
class Material:
    """A folder of small and valid files."""

    folder: Path

    def path(self, name: str) -> str:
        """A file of it."""
        return str(self.folder / name)

    def study(self, *, name: str = "small", store: str = "small.sqlite", target: str | None = None) -> Tables:
        """A small valid study; values are texts of TOML."""
        return {
            "": {"name": f'"{name}"', "seeds": "2", "store": json.dumps(store)},
            "target": {"data": json.dumps(target or f"npz:{self.path('target.npz')}"), "labels": "[9, 18]"},
            "sources.near": {"data": json.dumps(f"npz:{self.path('source.npz')}")},
            "network": {"name": '"mlp"', "widths": "[6]"},
            "pretraining": {"steps": "3", "lr": "0.05"},
            "training": {"steps": "3", "lr": "0.05"},
            "methods.scratch": {},
            "methods.fine-tune": {},
            "methods.linear-probe": {},
            "diagnostics.weights": {"examples": "12"},
            "engine": {"workers": "0"},
        }


def as_toml(tables: Tables) -> str:
    """The text of a study file."""
    lines: list[str] = []
    for table, values in tables.items():
        lines += [f"[{table}]"] if table else []
        lines += [f"{key} = {value}" for key, value in values.items()]
    return "\n".join(lines) + "\n"


def make_material(folder: Path, sandbox: Sandbox) -> Material:
    """Make the files; the study is run by the command itself."""
    material = Material(folder)
    for seed, name in enumerate(("source", "target"), start=1):
        write_npz(folder / f"{name}.npz", rows=(36, 18), features=6, seed=seed)
    generator = np.random.default_rng(3)
    inputs, labels = generator.normal(size=(60, 4)), np.arange(60) % 3
    table = pd.DataFrame(inputs, columns=list("abcd")).round(4)
    table["label"] = [f"class {label}" for label in labels]
    table.to_csv(folder / "table.csv", index=False)
    table.to_parquet(folder / "table.parquet")
    for i in range(36):
        place = folder / "folder" / f"class{i % 3}" / f"{i}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(generator.integers(0, 256, (8, 8), dtype=np.uint8)).save(place)
    law = pd.DataFrame({"n": [100 * 2**i for i in range(8)]})
    law["error"] = (0.05 + 2 * law["n"] ** -0.4).round(5)
    law.to_csv(folder / "law.csv", index=False)
    (folder / "study.toml").write_text(as_toml(material.study(name="study", store=str(folder / "study.sqlite"))))
    ended = sandbox.run("run", str(folder / "study.toml"), folder=folder)
    assert ended.code == 0, ended
    files = folder / "study.sqlite.files"
    with closing(sqlite3.connect(folder / "study.sqlite")) as connection, connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        found = connection.execute("SELECT key FROM cells WHERE role = 'method' ORDER BY id").fetchone()
    weights = next(iter(sorted(folder.rglob(f"{found[0]}.safetensors"))), None)
    assert weights is not None, list(files.glob("*"))
    (folder / "network.safetensors").write_bytes(weights.read_bytes())
    return material
