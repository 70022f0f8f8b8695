import io

import pytest
from rich.console import Console
from rich.progress import Progress

from study.plans import small_plan
from study.specs import spec
from transferscope.analyses.notebook import progress_words
from transferscope.cli.execute import before_it_begins
from transferscope.cli.progress import Bar, Lines, study_view
from transferscope.models import NetworkInput
from transferscope.records import Failure
from transferscope.study.run import CellFailed, StudyProgress

HALF = StudyProgress(done=5, failed=1, running=2, total=12, seconds_left=(110.0, 150.0))
ALL = StudyProgress(done=11, failed=1, running=0, total=12, seconds_left=(0.0, 0.0))
FAILED = CellFailed(small_plan(1).cells[1], Failure("exception", "ValueError: [bold]odd[/bold]"))


def test_lines_come_now_and_then_and_leave_the_end_to_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    view = Lines("usps", quiet=False)
    for event in (HALF, HALF, FAILED, ALL, ALL):
        view(event)
    assert capsys.readouterr().err.splitlines() == [
        "usps: 5 of 12 runs done, 1 failed, about 2 min left",
        "scratch from s, 10 labels, seed 0 failed: ValueError: [bold]odd[/bold]",
    ]


def test_quiet_shows_failures_only(capsys: pytest.CaptureFixture[str]) -> None:
    with study_view("usps", quiet=True) as view:
        for event in (HALF, FAILED, FAILED, ALL):
            view(event)
    assert capsys.readouterr().err.splitlines() == [
        "scratch from s, 10 labels, seed 0 failed: ValueError: [bold]odd[/bold]"
    ]


def test_a_bar_counts_failed_cells_as_settled() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    with Progress(console=console) as progress:
        view = Bar(progress, "usps [old]")
        view(FAILED)
        view(HALF)
        assert (progress.tasks[0].completed, progress.tasks[0].total) == (6, 12)
        assert progress.tasks[0].fields["words"] == "5 of 12 runs done, 1 failed, about 2 min left"
    assert "ValueError: [bold]odd[/bold]" in console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize(("device", "is_there", "said"), [("auto", True, 1), ("cpu", True, 0), ("auto", False, 0)])
def test_a_gpu_that_is_not_used_is_named(
    device: str, is_there: bool, said: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: is_there)
    asked = spec(sources={"net": {"network": "file.safetensors"}}, engine={"device": device})
    lines = list(before_it_begins(asked, {}))
    assert len(lines) == said
    assert all("net" in line and "--device cuda" in line for line in lines)
    assert not list(before_it_begins(spec(), {}))


@pytest.mark.parametrize(("size", "said"), [(None, False), ("256", False), ("128", True)])
def test_a_size_that_mixed_images_come_to_before_a_network_is_said(
    size: str | None, said: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = NetworkInput(size=224, resize=256, fit="crop")
    monkeypatch.setattr("transferscope.cli.execute.input_of", lambda _: read)
    facts = {"target": {"input_shape": [3, 224, 224], "provenance": {} if size is None else {"size": size}}}
    lines = list(before_it_begins(spec(sources={"net": {"network": "file.safetensors"}}), facts))
    assert any("network net" in line and "128 x 128" in line for line in lines) is said


def test_a_log_of_a_long_run_grows_ever_slower(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An hour in which nothing ends, looked at every second: lines after 1, 3, 7, 15 and 31 minutes."""
    view = Lines("usps", quiet=False)
    for seconds in range(3600):
        monkeypatch.setattr("time.monotonic", lambda seconds=seconds: 1000.0 + seconds)
        view(StudyProgress(done=5, failed=1, running=2, total=12, seconds_left=(3600.0 - seconds, 4000.0 - seconds)))
    assert len(capsys.readouterr().err.splitlines()) == 6


@pytest.mark.parametrize(
    ("left", "is_race", "words"),
    [
        ((130.0, 290.0), False, "2 to 5 min left"),
        ((40.0, 290.0), False, "40 s to 5 min left"),
        ((170.0, 190.0), False, "about 3 min left"),
        ((3000.0, 5400.0), False, "50 min to 1 h 30 min left"),
        ((170.0, float("inf")), False, "at least 3 min left"),
        ((0.0, 290.0), True, "up to 5 min left"),
        ((0.0, 0.4), True, "5 runs done"),
        (None, False, "5 of 12 runs done"),
    ],
)
def test_what_is_left_is_a_range(left: tuple[float, float] | None, is_race: bool, words: str) -> None:
    shown = progress_words(StudyProgress(5, 0, 1, 12, left, is_race=is_race))
    assert shown.rpartition(", ")[2] == words


def test_a_race_of_an_hour_writes_few_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run ends each second: gaps of 10 s, and from 80 s on of an eighth of the time."""
    view = Lines("usps", quiet=False)
    for seconds in range(3600):
        monkeypatch.setattr("time.monotonic", lambda seconds=seconds: 1000.0 + seconds)
        view(StudyProgress(seconds, 0, 0, seconds, (0.0, 3600.0 - seconds), is_race=True))
    assert 35 < len(capsys.readouterr().err.splitlines()) < 50  # 8 + log(3600 / 80) / log(8 / 7) = 36.5
