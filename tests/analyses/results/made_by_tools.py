"""Runs that tools write, each layout as its tool leaves it by default, and the score that is right for every run.

`python tests/analyses/results/made_by_tools.py` writes them to `written/`, a JSON file each, so that tests need no
tool: the text of files, databases as SQL, other files in base64. It takes the extra `results`.
"""

import base64
import csv
import importlib.metadata
import json
import math
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WRITTEN = Path(__file__).parent / "written"

STEPS = (10, 20, 30)
CURVES: dict[tuple[str, int], tuple[float, float, float]] = {
    (arm, seed): (0.5, 0.9 - seed / 50 - 0.15 * (arm == "pre"), round(0.7 + 0.1 * (arm == "pre") + seed / 100, 2))
    for arm in ("scratch", "pre")
    for seed in range(3)
}
"""Accuracy of each run at STEPS: pre is better at the end, and scratch at the step in between."""
_EXPORTED = "wandb_export_2026-11-28T08_00_00.000+00_00.csv"
DIVERGED = ("pre", 3)
FAILED = ("pre", 4)

Score = float | str
LAST: dict[tuple[str, int], Score] = {run: curve[-1] for run, curve in CURVES.items()}
BEST: dict[tuple[str, int], Score] = {run: max(curve) for run, curve in CURVES.items()}
WITH_DIVERGED = LAST | {DIVERGED: "failed"}
WITH_FAILED = WITH_DIVERGED | {FAILED: "failed"}


@dataclass(frozen=True)
class Layout:
    """One way in which a tool leaves runs.

    Attributes:
        tool: The package that writes it; "" for what only a web page writes, which is written by hand.
        make: Writes it below a folder.
        metric: The score.
        right: The score of every run, or what became of it.
        place: What is read, below the folder.
    """

    tool: str
    make: Callable[[Path], None]
    metric: str
    right: Mapping[tuple[str, int], Score]
    place: str = "."


def _curves(*, diverged: bool = True) -> dict[tuple[str, int], tuple[float, float, float]]:
    return CURVES | ({DIVERGED: (0.5, 0.6, math.nan)} if diverged else {})


def _trainer(place: Path, *, best: bool = False, finish: bool = False, saved: bool = False) -> None:
    import torch
    from transformers import Trainer, TrainingArguments

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(2, 2)

        def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
            logits = self.layer(x)
            return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}

    examples = [{"x": torch.ones(2), "labels": torch.tensor(at % 2)} for at in range(20)]
    for (arm, seed), curve in _curves(diverged=not best).items():
        # evaluations during training, and once more after it, of the model that was loaded
        told = iter([*curve, max(curve) if best else curve[-1]])
        chosen = {"load_best_model_at_end": True, "metric_for_best_model": "accuracy"} if best else {}
        args = TrainingArguments(
            str(place / arm / f"seed-{seed}"), num_train_epochs=3, per_device_train_batch_size=2, eval_strategy="epoch",
            save_strategy="epoch", seed=seed, report_to="none", use_cpu=True, disable_tqdm=True, **chosen,
        )  # fmt: skip
        trainer = Trainer(
            Model(), args, train_dataset=examples, eval_dataset=examples[:4],
            compute_metrics=lambda _, told=told: {"accuracy": next(told)},
        )  # fmt: skip
        trainer.train()
        if finish:
            trainer.save_metrics("eval", trainer.evaluate())
        if saved:
            trainer.save_state()
            for folder in (place / arm / f"seed-{seed}").glob("checkpoint-*"):
                shutil.rmtree(folder)
    for path in [*place.rglob("*.bin"), *place.rglob("*.pt"), *place.rglob("*.pth"), *place.rglob("*.safetensors")]:
        path.unlink()


def _mlflow(place: Path, uri: str) -> None:
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    import mlflow

    client = mlflow.MlflowClient(uri)
    experiment = client.create_experiment("sst2", artifact_location=str(place / "mlruns"))
    parent = client.create_run(experiment, run_name="all of pre").info.run_id
    for (arm, seed), curve in _curves().items():
        tags = {"mlflow.parentRunId": parent} if arm == "pre" else {}
        run = client.create_run(experiment, run_name=f"{arm}-{seed}", tags=tags).info.run_id
        client.log_param(run, "method", arm)
        client.log_param(run, "seed", seed)
        for at in (0, 2, 1):  # the last step is not the last line
            client.log_metric(run, "test/accuracy", curve[at], step=STEPS[at])
        client.log_metric(run, "epochs", 3.0)
        client.set_terminated(run)
    client.log_metric(parent, "test/accuracy", 0.81)
    client.set_terminated(parent)
    failed = client.create_run(experiment).info.run_id
    client.log_param(failed, "method", FAILED[0])
    client.log_param(failed, "seed", FAILED[1])
    client.log_metric(failed, "test/accuracy", 0.99, step=10)
    client.set_terminated(failed, "FAILED")
    deleted = client.create_run(experiment).info.run_id
    client.log_metric(deleted, "test/accuracy", 0.1)
    client.delete_run(deleted)


def _events(place: Path) -> None:
    from torch.utils.tensorboard import SummaryWriter

    for (arm, seed), curve in _curves().items():
        writer = SummaryWriter(str(place / "runs" / arm / f"seed{seed}"))
        for at in (0, 2, 1):
            writer.add_scalar("test/accuracy", curve[at], STEPS[at], new_style=seed == 1)
        writer.add_text("notes", "neither a number", 40)
        writer.close()


def _event_tables(place: Path) -> None:
    for (arm, seed), curve in _curves().items():
        with (place / f"run-{arm}_{seed}-tag-test_accuracy.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["Wall time", "Step", "Value"])
            rows.writerows([1795855587.1 + step, step, value] for step, value in zip(STEPS, curve, strict=True))


def _optuna(place: Path) -> None:
    import optuna

    study = optuna.create_study(storage=f"sqlite:///{place / 'study.db'}", study_name="sst2", direction="maximize")

    def objective(trial: Any) -> float:
        arm = trial.suggest_categorical("method", ["scratch", "pre"])
        seed = trial.suggest_int("seed", 0, 9)
        if (arm, seed) == FAILED:
            raise ValueError
        for step, value in zip(STEPS, curves[arm, seed], strict=True):
            trial.report(value, step)
        return float(curves[arm, seed][-1])

    curves = _curves()
    for arm, seed in [*curves, FAILED]:
        study.enqueue_trial({"method": arm, "seed": seed})
    study.optimize(objective, n_trials=len(curves) + 1, catch=(ValueError,))
    study.ask()  # one that is under way, and has no parameters yet


def _lightning(place: Path) -> None:
    from lightning.pytorch.loggers import CSVLogger

    for (arm, seed), curve in _curves().items():
        logger = CSVLogger(str(place), name=arm)
        logger.log_hyperparams({"seed": seed, "lr": 0.1})
        for step, value in zip(STEPS, curve, strict=True):
            logger.log_metrics({"train_loss": 0.5, "epoch": step // 10}, step=step - 1)
            logger.log_metrics({"val_acc": value, "epoch": step // 10}, step=step)
        logger.log_metrics({"train_loss": 0.1, "epoch": 4}, step=39)
        logger.save()
        logger.finalize("success")


def _chart(place: Path) -> None:
    curves = _curves()
    with (place / _EXPORTED).open("w", newline="") as file:
        rows = csv.writer(file, quoting=csv.QUOTE_ALL)
        ends = ("", "__MIN", "__MAX")
        rows.writerow(["Step", *(f"{arm}-{seed} - test/accuracy{end}" for arm, seed in curves for end in ends)])
        for at, step in enumerate(STEPS):
            own = [["NaN" if math.isnan(curve[at]) else curve[at]] * 3 for curve in curves.values()]
            rows.writerow([step, *(one for values in own for one in values)])


LAYOUTS: dict[str, Layout] = {
    "trainer, checkpoints alone": Layout("transformers", _trainer, "eval_accuracy", WITH_DIVERGED),
    "trainer, best model loaded": Layout(
        "transformers", lambda place: _trainer(place, best=True), "eval_accuracy", BEST
    ),
    "trainer, all_results.json": Layout(
        "transformers", lambda place: _trainer(place, best=True, finish=True), "eval_accuracy", BEST
    ),
    "trainer, trainer_state.json": Layout(
        "transformers", lambda place: _trainer(place, best=True, saved=True), "eval_accuracy", BEST
    ),
    "mlflow, mlflow.db": Layout(
        "mlflow", lambda place: _mlflow(place, f"sqlite:///{place / 'mlflow.db'}"), "test/accuracy", WITH_FAILED
    ),
    "mlflow, mlruns": Layout(
        "mlflow", lambda place: _mlflow(place, (place / "mlruns").as_uri()), "test/accuracy", WITH_FAILED, "mlruns"
    ),
    "tensorboard, event files": Layout("tensorboard", _events, "test/accuracy", WITH_DIVERGED, "runs"),
    "tensorboard, CSV files": Layout("", _event_tables, "test_accuracy", WITH_DIVERGED),
    "optuna": Layout("optuna", _optuna, "value", WITH_FAILED, "study.db"),
    "lightning, CSVLogger": Layout("lightning", _lightning, "val_acc", WITH_DIVERGED),
    "wandb, chart": Layout("", _chart, "test/accuracy", WITH_DIVERGED, _EXPORTED),
}


def packed(folder: Path) -> dict[str, dict[str, str]]:
    """The files below a folder as text; databases as SQL, of the tables that hold anything or are read."""
    files: dict[str, dict[str, str]] = {"text": {}, "sql": {}, "base64": {}}
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".db":
            with closing(sqlite3.connect(path)) as store:
                names = [name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
                for table in names:
                    kept = table in ("runs", "metrics", "params", "tags", "experiments")
                    if not kept and not table.startswith(("trial", "stud")):
                        store.execute(f'DROP TABLE "{table}"')
                files["sql"][name] = (
                    "\n".join(store.iterdump()).replace(str(folder), "/runs").replace(str(Path.cwd()), "/runs")
                )
        elif path.name.startswith("events.out"):
            files["base64"][name.rpartition(".vm.")[0] or name] = base64.b64encode(path.read_bytes()).decode()
        else:
            files["text"][name] = path.read_text(encoding="utf-8").replace(str(folder), "/runs")
    return files


def unpack(name: str, folder: Path) -> Path:
    """Write a layout of `written/` below a folder; what is to be read."""
    files = json.loads((WRITTEN / f"{name.replace(', ', '-').replace(' ', '-')}.json").read_text())
    for kind in ("text", "sql", "base64"):
        for inner, content in files[kind].items():
            path = folder / inner
            path.parent.mkdir(parents=True, exist_ok=True)
            if kind == "text":
                path.write_text(content, encoding="utf-8")
            elif kind == "base64":
                path.write_bytes(base64.b64decode(content))
            else:
                with closing(sqlite3.connect(path)) as store:
                    store.executescript(content)
    return folder / LAYOUTS[name].place


if __name__ == "__main__":
    WRITTEN.mkdir(exist_ok=True)
    for name, layout in LAYOUTS.items():
        if len(sys.argv) > 1 and not any(word in name for word in sys.argv[1:]):
            continue
        with tempfile.TemporaryDirectory() as folder:
            layout.make(Path(folder))
            version = importlib.metadata.version(layout.tool) if layout.tool else ""
            document = {"tool": layout.tool or "by hand", "version": version, **packed(Path(folder))}
            path = WRITTEN / f"{name.replace(', ', '-').replace(' ', '-')}.json"
            path.write_text(json.dumps(document, indent=1) + "\n")
            print(f"{path.name}: {path.stat().st_size:,} bytes")
