"""`transferscope compare`: its study file, what it says on the way, and what it refuses."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from cli.called import Call
from studies import write_npz
from transferscope.cli.execute import AnswerSoFar
from transferscope.store import Store
from transferscope.study.race_state import race_state
from transferscope.study.run import Event, StudyProgress

COMPARE = ["compare", "npz:target.npz", "--from", "npz:source.npz"]
QUICK = ["--labels", "24", "--methods", "fine-tune", "--steps", "3", "--pretraining-steps", "3", "--workers", "0"]


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
        pytest.param(("--recipe", "equal", "--lr", "0.05"), "2 settings", 0.05, marks=pytest.mark.long),
        (("--no-tuning", "--lr", "0.05"), None, 0.05),
    ],
)
def test_a_comparison_says_what_it_searches(
    call: Call, options: tuple[str, ...], trials: str | None, lr: float
) -> None:
    said = call(*COMPARE, *QUICK, "--seeds", 1, *options)
    assert said.code == 0
    study = written()
    assert study["training"]["lr"] == lr
    assert "race" not in study
    assert ("tuning" in study) == ("tuning:" in said.out) == (trials is not None)
    assert trials is None or f"scratch and fine-tune tries {trials} by cross-validation" in said.out


@pytest.mark.parametrize(
    ("options", "race", "seeds"),
    [
        pytest.param((), {}, 12, marks=pytest.mark.long),
        pytest.param(("--until-settled", "--seeds", "4"), {}, 4, marks=pytest.mark.long),
        (
            ("--runs", "3", "--margin", "2"),
            {"runs": 3, "margin": 2.0},
            12,
        ),
        pytest.param(("--minutes", "3", "--seeds", "3"), {"minutes": 3.0}, 3, marks=pytest.mark.long),
    ],
)
def test_without_seeds_it_is_run_until_it_is_settled(
    call: Call, options: tuple[str, ...], race: dict[str, object], seeds: int
) -> None:
    assert call(*COMPARE, *QUICK, "--no-tuning", *options).code == 0
    study = written()
    assert study["race"] == {"margin": 1.0, **race}
    assert study["seeds"] == seeds
    with Store.open("runs/source-to-target.sqlite", create=False) as store:
        counts = store.counts("source-to-target")
        state = race_state(store.study_documents("source-to-target"))
    assert counts.done == counts.total
    assert state.end
    assert not state.not_begun
    if state.end == "runs":
        assert "  race: as many runs as it may make\n" in call("status", "runs/source-to-target.toml").out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["npz:source.npz", "npz:target.npz"], "transferscope compare npz:target.npz --from npz:source.npz\n"),
        (["npz:target.npz"], "compare was given 'npz:target.npz' and no source; the target comes first"),
        (["a", "b", "--from", "c"], "compare was given 'a b' and more than one target"),
        (["net.py:Net", "--from", "npz:source.npz"], "net.py:Net"),
        ([*COMPARE[1:], "--lr", "0"], "Invalid value for '--lr'"),
        ([*COMPARE[1:], "--margin", "0"], "[race] margin = 0.0 is out of range"),
        (["npz:target.npz", "--from", "a", "b", "--head", "fc"], "--from names 2 sources; give one"),
        ([*COMPARE[1:], "--seeds", "1", "--until-settled"], "takes at least 2"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(call: Call, given: list[str], said: str) -> None:
    Path("net.py").write_text("from torch import nn\n\n\nclass Net(nn.Linear):\n    pass\n")
    assert said.rstrip() in call("compare", *given).mistake
    assert not Path("runs").exists()


def test_ctrl_c_says_the_answer_so_far_and_how_to_go_on(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transferscope.cli.execute.LEAST_SECONDS", 0.0)
    given = [*COMPARE, *QUICK, "--no-tuning", "--runs", "4"]
    shown = AnswerSoFar.__call__

    def stop(self: AnswerSoFar, event: Event) -> None:
        shown(self, event)
        if isinstance(event, StudyProgress) and event.done >= 1:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(AnswerSoFar, "__call__", stop)
        stopped = call(*given)
    assert stopped.code == 130
    assert "the same command goes on from there" in stopped.err
    assert stopped.err.splitlines()[-1].startswith("so far, 24 labels: ")
    on = call(*given)
    assert on.code == 0
    assert "so far, 24 labels: " in on.err
