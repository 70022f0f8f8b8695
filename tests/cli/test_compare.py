"""`transferscope compare`: its study file, what it says on the way, and what it refuses."""

import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from cli.called import Call
from studies import write_npz
from transferscope.analyses.compare import study_file
from transferscope.cli import compare
from transferscope.cli.execute import AnswerSoFar
from transferscope.errors import SettingsError
from transferscope.store import Store
from transferscope.study.race_state import race_state
from transferscope.study.run import Event, StudyProgress

ASKED = "npz:target.npz --from npz:source.npz"
COMPARE = ["compare", *ASKED.split()]
QUICK = ["--labels", "24", "--methods", "fine-tune", "--steps", "3", "--workers", "0", "--set", "pretraining.steps=3"]


@pytest.fixture(autouse=True)
def _data(call: Call) -> None:
    for seed, name in enumerate(("source", "target")):
        write_npz(f"{name}.npz", rows=(60, 30), features=3, apart=0.0, seed=seed)


def written() -> dict[str, Any]:
    """The study file of the comparison."""
    return tomllib.loads(Path("runs/source-to-target.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("options", "trials", "lr"),
    [
        pytest.param(("--recipe", "equal"), "6 settings", 0.01, marks=pytest.mark.long),
        pytest.param(("--recipe", "equal", "--set", "training.lr=0.05"), "2 settings", 0.05, marks=pytest.mark.long),
        (("--recipe", "equal", "--set", "training.lr=0.05", "tuning.grid={}"), None, 0.05),
    ],
)
def test_a_comparison_says_what_it_searches(
    call: Call, options: tuple[str, ...], trials: str | None, lr: float
) -> None:
    said = call(*COMPARE, *QUICK, "--seeds", 1, "--margin", 2, "--set", "decision.worth=60", *options)
    assert said.code == 0
    study = written()
    assert study["decision"] == {"margin": 2.0, "worth": 60.0}
    assert study["training"]["lr"] == lr
    assert "race" not in study
    assert ("tuning" in study) == ("tuning:" in said.out) == (trials is not None)
    assert trials is None or f"scratch and fine-tune tries {trials} by cross-validation" in said.out


def test_the_minutes_of_a_race_count_from_the_beginning_of_its_command(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, heard = time.monotonic(), list[float]()

    def execute(*_: object, since: float, **__: object) -> None:
        heard.append(since)
        raise SettingsError("as far as this goes")

    def ask(*given: Any, **options: Any) -> Any:
        heard.append(time.monotonic())
        return study_file.ask(*given, **options)

    monkeypatch.setattr(compare, "execute", execute)
    monkeypatch.setattr(compare, "ask", ask)
    assert call(*COMPARE, *QUICK, "--minutes", "3").code == 2
    read, since = heard
    assert began <= since < read


@pytest.mark.parametrize(
    ("options", "race", "seeds"),
    [
        pytest.param((), {}, 12, marks=pytest.mark.long),
        pytest.param(("--seeds", "4", "--set", "race.runs=99"), {"runs": 99}, 4, marks=pytest.mark.long),
        (("--set", "race.runs=3", "--margin", "2"), {"runs": 3}, 12),
        pytest.param(("--minutes", "3", "--seeds", "3"), {"minutes": 3.0}, 3, marks=pytest.mark.long),
    ],
)
def test_without_seeds_it_is_run_until_it_is_settled(
    call: Call, options: tuple[str, ...], race: dict[str, object], seeds: int
) -> None:
    assert call(*COMPARE, *QUICK, *options).code == 0
    study = written()
    assert study["race"] == race
    assert study.get("decision") == ({"margin": 2.0} if "--margin" in options else None)
    assert study["seeds"] == seeds
    with Store.open("runs/source-to-target.sqlite", create=False) as store:
        counts = store.counts("source-to-target")
        state = race_state(store.study_documents("source-to-target"))
    assert counts.done == counts.total
    assert state.end
    assert not state.not_begun
    if state.end == "runs":
        assert "  race: stopped at the limit of runs\n" in call("status", "runs/source-to-target.toml").out


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("npz:source.npz npz:target.npz", "transferscope compare npz:target.npz --from npz:source.npz"),
        ("npz:target.npz", "compare was given 'npz:target.npz' and no source; the target comes first"),
        ("a b --from c", "compare was given 'a b' and more than one target"),
        ("net.py:Net --from npz:source.npz", "net.py:Net"),
        (f"{ASKED} --set training.lr=0", "--set training.lr = 0 is out of range; expected at least 1e-12"),
        (f"{ASKED} --margin 0", "--margin 0.0 is out of range; expected above 0"),
        (f"{ASKED} --lr 1", "--lr is a setting: --set training.lr=VALUE or pretraining.lr=VALUE"),
        (f"{ASKED} --steps 1 --set training.steps=2", "--steps and --set training.steps were both given"),
        (f"{ASKED} --set sources.sauce.limit=9", "unknown source 'sauce': did you mean 'source'?"),
        ("source.npz", "transferscope report source.npz"),
        ("study.toml", "`transferscope run study.toml`"),
        (f"{ASKED} --seeds 1 --minutes 9", "at least 2"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(call: Call, typed: str, said: str) -> None:
    Path("net.py").write_text("from torch import nn\n\n\nclass Net(nn.Linear):\n    pass\n")
    assert said in call("compare", *typed.split()).mistake
    assert not Path("runs").exists()


def test_settings_of_every_table_reach_the_study_file(call: Call) -> None:
    keys = ["methods.fine-tune.lr_scale=0.5", "sources.source.limit=40", "target.test_limit=20", "network.widths=4,3"]
    keys += ["engine.keep=none", "tuning={}", 'diagnostics.weights.at=["start", "end"]']
    assert call(*COMPARE, *QUICK, "training.momentum=0", *keys, "--seeds", 1, "--network", "mlp").code == 0
    study = written()
    assert study["methods"]["fine-tune"] == {"lr_scale": 0.5}
    assert study["sources"]["source"]["limit"] == 40
    assert study["target"]["test_limit"] == 20
    assert study["network"] == {"name": "mlp", "widths": [4, 3]}
    assert study["engine"] == {"workers": 0, "keep": "none"}
    assert study["training"] == {"steps": 3, "momentum": 0}
    assert study["tuning"] == {}
    assert study["diagnostics"] == {"weights": {"at": ["start", "end"]}}


def test_ctrl_c_says_the_answer_so_far_and_how_to_go_on(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transferscope.cli.execute.LEAST_SECONDS", 0.0)
    given = [*COMPARE, *QUICK, "race.runs=4"]
    shown = AnswerSoFar.__call__

    def stop(self: AnswerSoFar, event: Event) -> None:
        shown(self, event)
        if isinstance(event, StudyProgress) and event.done >= 1:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(AnswerSoFar, "__call__", stop)
        stopped = call(*given)
    assert stopped.code == 130
    assert "the same command resumes there" in stopped.err
    assert stopped.err.splitlines()[-1].startswith("so far, 24 labels: ")
    on = call(*given)
    assert on.code == 0
    assert "so far, 24 labels: " in on.err
