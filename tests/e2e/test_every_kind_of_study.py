"""Every command takes every study: each kind of source, with and without pretraining, at every stage of the work."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from transferscope.cli.main import main
from transferscope.estimate import Estimate
from transferscope.models import NetworkSettings, build_network, save_weights
from transferscope.records import Cost, Failure, Record
from transferscope.store import Outcome, PlannedCell, Store
from transferscope.study.plan import StudyPlan, plan_study
from transferscope.study.spec import read_spec

Stage = Literal["not begun", "some done", "some failed", "a seed failed", "all failed", "all done"]
STAGES = [
    *("not begun", "some failed", "all failed", "all done"),
    *(pytest.param(stage, marks=pytest.mark.slow) for stage in ("some done", "a seed failed")),
]

STUDY = """
name = "every"
seeds = 3
[target]
data = "digits"
limit = 60
test_limit = 40
labels = [20]
[network]
name = "mlp"
widths = [4]
[training]
steps = 3
{rest}
"""
LETTERS = '[sources.letters]\ndata = "glyphs?n_train=40&n_test=20&size=8"\n'
FIRST, SECOND = '[sources.first]\nnetwork = "first.safetensors"\n', '[sources.second]\nnetwork = "second.safetensors"\n'
PRETRAINING = "[pretraining]\nsteps = 3\n"
BOTH = "[methods.scratch]\n[methods.linear-probe]\n"

KINDS: dict[str, str] = {
    "scratch alone": "[methods.scratch]\n",
    "scratch alone, with pretraining": f"{PRETRAINING}[methods.scratch]\n",
    "joint alone": f"{LETTERS}[methods.joint]\n",
    "data": f"{LETTERS}{PRETRAINING}{BOTH}",
    "data by size": f"{LETTERS}{PRETRAINING}sizes = [0, 10, 20, 40]\n{BOTH}",
    "data with checkpoints": f"{LETTERS}{PRETRAINING}checkpoints = [1, 2]\n{BOTH}",
    "a network": f"{FIRST}{BOTH}[diagnostics.class-separation]\n",
    "a network, with pretraining": f"{FIRST}{PRETRAINING}{BOTH}",
    "a network, no baseline": f"{FIRST}[methods.linear-probe]\n",
    "two networks": f"{FIRST}{SECOND}{BOTH}",
    "data and networks": f"{LETTERS}{FIRST}{SECOND}{PRETRAINING}{BOTH}[methods.joint]\n",
}


@dataclass(frozen=True)
class Planned:
    """A study file in a folder with the networks that it names, and its cells."""

    folder: Path
    plan: StudyPlan


OTHERS = (
    "scratch alone, with pretraining",
    "data by size",
    "data with checkpoints",
    "a network, with pretraining",
    "a network, no baseline",
    "two networks",
)
"""Kinds that hardly differ from others; `make test-all` has them."""


@pytest.fixture(
    scope="module", params=[pytest.param(kind, marks=[pytest.mark.slow] * (kind in OTHERS)) for kind in KINDS]
)
def planned(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Planned:
    folder = tmp_path_factory.mktemp("every")
    for i, name in enumerate(("first", "second")):
        network = build_network(NetworkSettings("mlp", widths=(4,)), (1, 8, 8), 4, seed=i)
        save_weights(network, folder / f"{name}.safetensors")
    (folder / "every.toml").write_text(STUDY.format(rest=KINDS[request.param]), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return Planned(folder, plan_study(read_spec(folder / "every.toml")))


@pytest.mark.long
@pytest.mark.parametrize("stage", STAGES)
def test_every_command_answers(
    stage: Stage, planned: Planned, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(planned.folder)
    path = planned.folder / "runs" / "every.sqlite"
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    with Store.open(path) as store:
        fabricate(store, planned.plan, stage)
        fits = [one for one in store.cells("every") if one.cell.role == "method" and one.state == "done"]
        finished = not store.counts("every").planned
    pretrained = any(one.cell.payload["method"]["name"] == "linear-probe" for one in fits)
    ranked = None if stage == "some failed" else finished and pretrained  # None: where a seed has all candidates
    commands: dict[str, tuple[tuple[str, ...], bool | None]] = {
        "status": (("status", "every.toml"), True),
        "rank": (("rank", "every.toml", "--scores", "h-score"), ranked),
        "draw": (("papers", "draw", "liu2019", "landscapes", "--study", "every.toml", "--out", "figures"), None),
        "scaling": (("scaling", "every.toml"), None),
        "report": (("report", "every.toml"), bool(fits)),  # last, with what the others keep for it
    }
    for name, (words, answers) in commands.items():
        monkeypatch.setattr("sys.argv", ["transferscope", *words])
        with pytest.raises(SystemExit) as ended:  # what is no mistake of a user's comes out as it was raised
            main()
        said = capsys.readouterr()
        assert ended.value.code in (0, 2, None), (name, said.err)
        answered = not ended.value.code
        assert answered or said.err.splitlines()[-1].startswith("transferscope: "), (name, said.err)
        assert answers is None or answers == answered, (name, said.err)


def fabricate(store: Store, plan: StudyPlan, stage: Stage) -> None:
    """A store whose cells stand where the stage says; the rest is blocked by them, or planned."""
    store.plan(plan.study, plan.cells)
    labels = plan.arrays["target_test_labels"]
    store.put_study_array("every", "target_test_labels", labels)
    rng, failed = np.random.default_rng(0), set[str]()
    store.files.mkdir(parents=True, exist_ok=True)
    for i, cell in enumerate(plan.cells if stage != "not begun" else ()):
        seed_failed = stage == "a seed failed" and cell.labels["seed"] == 0
        one_failed = stage == "some failed" and cell.role == "method" and i % 3 == 1
        if failed & set(cell.needs):
            continue
        if seed_failed or one_failed or stage == "all failed":
            store.fail(cell.key, Failure("exception", "the number is odd"))
            failed.add(cell.key)
        elif stage != "some done" or i < 2 * len(plan.cells) // 3:
            store.finish(cell.key, outcome(cell, labels, rng, store))


def outcome(cell: PlannedCell, labels: np.ndarray, rng: np.random.Generator, store: Store) -> Outcome:
    """What a cell of its role leaves, with a network that is not trained."""
    if cell.role == "pretrain":
        network = build_network(NetworkSettings("mlp", widths=(4,)), (1, 8, 8), 3, seed=int(str(cell.labels["seed"])))
        for name in (cell.key, f"{cell.key}.step1", f"{cell.key}.step2"):
            save_weights(network, store.files / f"{name}.safetensors")
        return Outcome((Record("accuracy", Estimate(0.6 + 0.1 * rng.random(), n=20), "source_test"),), Cost(1.0))
    if cell.role == "diagnose":
        record = Record("class_separation", Estimate(rng.random(), 0.1, 20), "target_train")
        return Outcome((record,), Cost(1.0), notes={"headline": "class_separation", "sentence": "s", "limits": "l"})
    predictions = np.where(rng.random(len(labels)) < 0.7, labels, (labels + 1) % 10).astype(np.int32)
    accuracy = float((predictions == labels).mean())
    records = [Record("accuracy", Estimate(accuracy, n=len(labels)), part) for part in ("target_test", "target_train")]
    records += [Record("loss", Estimate(1 - accuracy, n=len(labels)))]
    records += [Record("accuracy", Estimate(accuracy, n=len(labels)), step=step) for step in (1, 3)]
    return Outcome(tuple(records), Cost(1.0, 1 << 20, 100, 60, 3), {"predictions": predictions}, {"status": "ok"})
