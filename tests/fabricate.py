"""Studies made up for the tests of the report: outcomes with known differences, written through the store."""

import atexit
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from transferscope.estimate import Estimate
from transferscope.methods import METHODS, called_of
from transferscope.records import Cost, Failure, Record
from transferscope.store import Outcome, PlannedCell, Store, StudyRow

HOSTILE = "<script>alert(1)</script>"
CLASSES = (*(f"digit {i}" for i in range(8)), HOSTILE, "nine $x$")
FAILED = ("mnist", "merlin", 50, 3)
N_TEST = 2007
SCRATCH = {50: 0.70, 200: 0.84, 600: 0.912}
GAINS = {  # transferability by source and method, at 50 labels; it shrinks with the number of labels
    "fashion": {"fine-tune": 0.05, "l2-sp": 0.04, "joint": -0.05, "merlin": 0.12},
    "mnist": {"fine-tune": 0.10, "l2-sp": 0.10, "joint": 0.01, "merlin": 0.14},
}
FORGOTTEN = {"fine-tune": 0.45, "l2-sp": 0.20, "joint": 0.02, "merlin": 0.03, "knn": 0.0}


@dataclass(frozen=True)
class Fabrication:
    """What to make up: transferability by source and method; (source, method, n_target, seed) of cells that failed."""

    name: str = "usps"
    gains: Mapping[str, Mapping[str, float]] = field(default_factory=lambda: GAINS)
    sizes: tuple[int, ...] = (50, 200, 600)
    n_seeds: int = 5
    classes: tuple[str, ...] = tuple(f"digit {i}" for i in range(10))
    n_test: int = N_TEST
    failed: frozenset[tuple[str, str, int, int]] = frozenset()
    not_done: frozenset[tuple[str, str, int, int]] = frozenset()
    baseline: bool = True


def fabricate(path: Path, fabrication: Fabrication | None = None) -> Store:
    """A store at `path` with one classification study in it; made once, and copied from then on."""
    wanted = fabrication or Fabrication()
    if path.exists():  # a second study in a store
        _make(path, wanted)
        return Store.open(path)
    made = _folder() / f"{sha256(repr(wanted).encode()).hexdigest()}.sqlite"
    if not made.exists():
        _make(made, wanted)
    shutil.copy(made, path)
    return Store.open(path)


@cache
def _folder() -> Path:
    """Where studies lie that were made before; gone at the end of the process."""
    folder = mkdtemp(prefix="transferscope-fabricated-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _make(path: Path, wanted: Fabrication) -> None:
    with Store.open(path) as store:
        study = StudyRow(wanted.name, _spec(wanted), _facts(wanted), "2026-11-21T09:00:00+00:00")
        store.plan(study, list(_cells(wanted)))
        store.put_study_array(wanted.name, "target_test_labels", _labels(wanted))
        _do_all(store, wanted)


def fabricate_regression(path: Path, *, n_seeds: int = 4) -> Store:
    """A store with a regression study: squared error falls from 0.30 from scratch to 0.22 by fine-tuning."""
    store = Store.open(path)
    spec = {"name": "numbers", "methods": {"scratch": {}, "fine-tune": {}}, "seeds": list(range(n_seeds))}
    rng = np.random.default_rng(0)
    labels = rng.normal(size=(300, 2)).astype(np.float32)
    keys = {
        (method, seed): PlannedCell(
            key=f"{method}-{seed}",
            role="method",
            labels={"source": source, "method": method, "n_target": 40, "n_source": None, "seed": seed},
            payload={},
        )
        for method, source in (("scratch", None), ("fine-tune", "simulator"))
        for seed in range(n_seeds)
    }
    store.plan(StudyRow("numbers", spec, {}, "2026-11-21T09:00:00+00:00"), list(keys.values()))
    store.put_study_array("numbers", "target_test_labels", labels)
    for (method, _), cell in keys.items():
        risk = {"scratch": 0.30, "fine-tune": 0.22}[method]
        predictions = (labels + rng.normal(scale=np.sqrt(risk), size=labels.shape)).astype(np.float32)
        mse = float(((predictions - labels) ** 2).mean())
        records = (Record("mse", Estimate(mse)), Record("r2", Estimate(1 - mse)))
        store.finish(cell.key, Outcome(records, Cost(seconds=1.0), {"predictions": predictions}))
    return store


def _spec(wanted: Fabrication) -> dict[str, object]:
    methods = dict.fromkeys(m for gains in wanted.gains.values() for m in gains)
    tables: dict[str, object] = {"scratch": {}} if wanted.baseline else {}
    return {
        "name": wanted.name,
        "seeds": list(range(wanted.n_seeds)),
        "target": {"data": "usps", "transforms": ["resize:28"], "labels": list(wanted.sizes)},
        "sources": {name: {"data": f"{name}-data"} for name in wanted.gains},
        "network": {"name": "lenet"},
        "pretraining": {"epochs": 5, "batch_size": 64, "lr": 0.01},
        "training": {"steps": 3000, "batch_size": 64, "lr": 0.01},
        "methods": tables | {name: {"rho": 2.0} if name == "merlin" else {} for name in methods},
    }


def _facts(wanted: Fabrication) -> dict[str, object]:
    target = {
        "name": "usps",
        "n_train": 7291,
        "n_test": wanted.n_test,
        "classes": list(wanted.classes),
        "fingerprint": "0123456789abcdef",
        "provenance": {"spec": "usps", "address": "https://example.org/usps.bz2", "licence": "none stated"},
    }
    sources = {
        name: {
            "name": name,
            "n_train": 60_000,
            "n_test": 10_000,
            "fingerprint": "fedcba9876543210",
            "provenance": {
                "spec": f"{name}-data",
                "licence": "MIT",
                "checksum": "md5:8d4fb7e6c68d591d4c3dfef9ec88bf0d",
            },
        }
        for name in wanted.gains
    }
    return {
        "names": called_of({name: METHODS[name]() for name in _COSTS}),
        "target": target,
        "sources": sources,
        "versions": {"transferscope": "0.1.0", "torch": "2.13.0", "numpy": "2.4.6", "python": "3.11.9"},
        "machine": {"system": "Linux", "processor": "x86_64", "cores": 2},
    }


def _cells(wanted: Fabrication) -> Iterator[PlannedCell]:
    for source in wanted.gains:
        for seed in range(wanted.n_seeds):
            yield PlannedCell(
                key=_key(source, "pretrain", 0, seed),
                role="pretrain",
                labels={"source": source, "method": "pretrain", "n_target": None, "n_source": 60_000, "seed": seed},
                payload={},
            )
    for source, method, n_target, seed in _runs(wanted):
        pretrained = method in ("fine-tune", "l2-sp")
        yield PlannedCell(
            key=_key(source, method, n_target, seed),
            role="method",
            labels={
                "source": source or None,
                "method": method,
                "n_target": n_target,
                "n_source": 60_000 if source else None,
                "seed": seed,
            },
            payload={},
            needs=(_key(source, "pretrain", 0, seed),) if pretrained else (),
        )


def _runs(wanted: Fabrication) -> Iterator[tuple[str, str, int, int]]:
    for n_target in wanted.sizes:
        for seed in range(wanted.n_seeds):
            if wanted.baseline:
                yield "", "scratch", n_target, seed
            for source, gains in wanted.gains.items():
                for method in gains:
                    yield source, method, n_target, seed


def _key(source: str, method: str, n_target: int, seed: int) -> str:
    return f"{source or 'none'}-{method}-{n_target}-{seed}"


def _labels(wanted: Fabrication) -> np.ndarray:
    return (np.arange(wanted.n_test) % len(wanted.classes)).astype(np.int64)


def _do_all(store: Store, wanted: Fabrication) -> None:
    rng = np.random.default_rng(0)
    difficulty = rng.random(wanted.n_test)  # shared by all runs, so that they err on the same examples
    for source in wanted.gains:
        for seed in range(wanted.n_seeds):
            value = 0.91 + 0.004 * rng.normal()
            record = Record("accuracy", Estimate(value, n=10_000), "source_test")
            store.finish(
                _key(source, "pretrain", 0, seed), Outcome((record,), Cost(160.0, 600 << 20, 431_080, 300_000))
            )
    for seed, shared in enumerate(rng.normal(scale=0.008, size=wanted.n_seeds)):
        for run in (run for run in _runs(wanted) if run[3] == seed):
            if run in wanted.failed:
                store.fail(_key(*run), Failure("non_finite", "the loss became NaN at step 311", "Traceback <b>x</b>"))
            elif run not in wanted.not_done:
                store.finish(_key(*run), _outcome(wanted, run, shared=shared, difficulty=difficulty, rng=rng))


def _outcome(
    wanted: Fabrication,
    run: tuple[str, str, int, int],
    *,
    shared: float,
    difficulty: np.ndarray,
    rng: np.random.Generator,
) -> Outcome:
    source, method, n_target, _ = run
    base = SCRATCH[n_target]
    gain = wanted.gains[source][method] * (1 - base) / (1 - SCRATCH[50]) if source else 0.0
    level = float(np.clip(base + gain + shared + 0.006 * rng.normal(), 0.02, 0.995))
    labels = _labels(wanted)
    noisy = 0.85 * difficulty + 0.15 * rng.random(wanted.n_test)
    noisy = noisy + 0.2 * ((labels % 10 == 8) | (labels % 10 == 3))  # two hard classes
    wrong = noisy > np.quantile(noisy, level)
    offset = rng.integers(1, max(2, len(wanted.classes)), size=wanted.n_test)
    predictions = np.where(wrong, (labels + offset) % len(wanted.classes), labels).astype(np.int32)
    accuracy = float((predictions == labels).mean())
    return Outcome(
        records=(*_final_records(run, accuracy, rng), *_curve(accuracy, len(wanted.classes), rng)),
        cost=Cost(*_COSTS[method], steps=3000),
        arrays={"predictions": predictions},
        notes={"status": "ok"},
    )


_COSTS = {  # seconds, bytes, parameters, examples
    "scratch": (21.3, 480 << 20, 431_080, 192_000),
    "fine-tune": (20.9, 480 << 20, 431_080, 192_000),
    "l2-sp": (24.1, 490 << 20, 431_080, 192_000),
    "joint": (43.0, 610 << 20, 436_090, 384_000),
    "merlin": (51.7, 640 << 20, 436_090, 384_000),
    "knn": (0.1, 480 << 20, 0, 600),
}


def _final_records(run: tuple[str, str, int, int], accuracy: float, rng: np.random.Generator) -> Iterator[Record]:
    source, method, n_target, _ = run
    yield Record("accuracy", Estimate(accuracy, n=N_TEST))
    yield Record("loss", Estimate(2.5 * (1 - accuracy), n=N_TEST))
    yield Record("accuracy", Estimate(1.0, n=n_target), "target_train")
    if source:
        yield Record("accuracy", Estimate(0.91 - FORGOTTEN[method] + 0.01 * rng.normal(), n=10_000), "source_test")


def _curve(accuracy: float, n_classes: int, rng: np.random.Generator) -> Iterator[Record]:
    start = 1 / n_classes
    for step in range(150, 3001, 150):
        value = accuracy - (accuracy - start) * np.exp(-step / 400) + 0.003 * rng.normal()
        yield Record("accuracy", Estimate(float(value), n=N_TEST), step=step)
        yield Record("loss", Estimate(float(2.5 * np.exp(-step / 500) + 0.01), n=64), "target_train", step)
