"""`transferscope scaling` on a table, on rows that cannot be used, and on the store of a study."""

import itertools
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from cli.called import output
from scaling.examples import OBJDET, SIZES
from transferscope.analyses.scaling import ScalingQuestion
from transferscope.analyses.scaling import study as of_study
from transferscope.analyses.scaling.study import StudyQuestion, analyse_errors, study_part
from transferscope.errors import DataError, SettingsError
from transferscope.estimate import Estimate
from transferscope.records import Cost, Record
from transferscope.report.blocks import Figure, Points, Table, Text
from transferscope.report.page import Part
from transferscope.store import Outcome, Owner, PlannedCell, Store, StudyRow
from transferscope.study.frames import read_study

run = partial(output, "scaling")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "errors.csv"
    rows = [
        f"{task},{n:g},{error + shift:.6f}"
        for task, shift in (("a", 0.0), ("b", -0.1))
        for n, error in zip(SIZES, OBJDET, strict=True)
    ]
    path.write_text("task,images,error\n" + "\n".join(rows) + "\n")
    return path


@pytest.mark.long
def test_a_table_gets_a_verdict_and_a_page(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    printed = run(
        str(table), "--columns", "pretrain=images", "--by", "task", "--target-score", "0.93", "--out", str(out)
    )
    assert "Of a: at n = 256,000, four times the largest size, expect" in printed
    assert "Different data: b ends better than a where" in printed
    page = out.read_text()
    assert page.count("<figure ") == 1
    assert 'src="' not in page
    assert 'href="http' not in page
    assert "Content-Security-Policy" in page


def test_what_is_left_out_names_its_curve(tmp_path: Path) -> None:
    table = tmp_path / "bad.csv"
    table.write_text("g,n,error\na,1000,0.5\na,2000,0.4\na,4000,\nb,1000,0.5\nb,2000,0.4\nb,4000,0.3\n")
    printed = run(str(table), "--by", "g", "--out", str(tmp_path / "page.html"))
    assert "note: a: left out 1 row with a size or error that is missing or not finite" in printed
    assert "note: b: power+floor needs 4 different sizes and there are 3" in printed


@pytest.mark.long
@pytest.mark.parametrize("budget", [3_000, *(pytest.param(more, marks=pytest.mark.slow) for more in (20_000, 100_000))])
def test_the_headline_over_both_sizes_keeps_to_the_budget(budget: int, tmp_path: Path) -> None:
    table, out = tmp_path / "both.csv", tmp_path / "page.html"
    rows = [f"{n},{s},{0.05 + 0.4 * (s + 3 * n**0.7) ** -0.25:.4f}" for n in (1000, 4000, 16000) for s in (500, 2000)]
    rows += [f"{n},1000,{0.05 + 0.4 * (1000 + 3 * n**0.7) ** -0.25:.4f}" for n in (1000, 4000, 16000)]
    table.write_text("n,s,error\n" + "\n".join(rows) + "\n")
    options = ("--columns", "labels=s", "--target-score", "0.08", "--set", "cost_pretrain=1", "cost_label=1")
    printed = run(str(table), *options, "--budget", str(budget), "--out", str(out))
    assert printed.startswith(f"Spend the budget of {budget:,} on n = ")
    n, s = (float(found.replace(",", "")) for found in re.findall(r"n = ([\d,]+) and s = ([\d,]+) \(", printed)[0])
    assert n + s <= 1.01 * budget
    for largest in re.findall(r"within n = ([\d,]+)", printed):
        assert float(largest.replace(",", "")) <= budget
    for cost in re.findall(r"The next run to make: .*?at a cost of ([\d,]+)", printed):
        assert float(cost.replace(",", "")) <= budget


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--set", "largest_size=100"), "largest feasible size = 100 is out of range; expected at least 64000"),
        (("--set", "cost_pretrain=1", "--budget", "300"), "budget = 300 pays for n = 300, below the"),
        (("--set", "cost_pretrain=10", "--budget", "3"), "budget = 3 is out of range; expected at least"),
    ],
)
def test_a_limit_below_what_was_measured_is_a_sentence(options: tuple[str, ...], sentence: str, table: Path) -> None:
    columns = ("--columns", "pretrain=images", "--by", "task", "--target-score", "0.93")
    with pytest.raises(SettingsError, match=sentence):
        run(str(table), *columns, *options)


def stored_study(path: Path, sizes: list[int], controls: Sequence[str] = ()) -> None:
    """Errors of fine-tuning from every size, and from an earlier step of it; 0 is training from scratch."""
    cells = []
    for n, seed in itertools.product(sizes, (0, 1)):
        start: dict[str, str | int | float | None] = {"source": "synthetic", "method": "fine-tune"}
        labels = (start if n else {"source": None, "method": "scratch"}) | {
            "n_source": n,
            "n_target": 600,
            "seed": seed,
        }
        cells.append(PlannedCell(f"{n}-{seed}", "method", labels, {}))
        if n:
            cells.append(PlannedCell(f"{n}-{seed}-early", "method", {**labels, "pretrain_step": 10}, {}))
    for method, seed in itertools.product(controls, (0, 1)):
        control: dict[str, str | int | float | None] = {"source": None, "method": method, "n_source": 0}
        cells.append(PlannedCell(f"{method}-{seed}", "method", control | {"n_target": 600, "seed": seed}, {}))
    with Store.open(path) as store:
        store.plan(StudyRow("study", {}, {}, "2026-01-01T00:00:00Z"), cells)
        owner = Owner.current()
        while claims := store.claim("study", owner):
            cell = claims[0].cell
            n, seed = (int(str(cell.labels[name])) for name in ("n_source", "seed"))
            error = 0.5 if n == 0 or "pretrain_step" in cell.labels else 2 * n**-0.4 + 0.1
            error = 0.95 if cell.labels["method"] in controls else error
            accuracy = 1 - error * (1.01 if seed else 0.99)
            curve = Record("accuracy", Estimate(0.1), step=10)
            store.finish(cell.key, Outcome((Record("accuracy", Estimate(accuracy)), curve), Cost()))


@pytest.mark.long
def test_controls_that_read_no_source_are_not_training_without_pretraining(tmp_path: Path) -> None:
    said = []
    for controls in ([], ["raw", "random-features", "merlin-target-only"]):
        store = tmp_path / f"{len(controls)}.sqlite"
        stored_study(store, [0, 1000, 2000, 4000, 8000], controls)
        said.append(run(str(store), "--out", str(tmp_path / "page.html")).replace(store.name, "STORE"))
    assert said[1] == said[0]


def test_a_target_of_a_study_is_a_score_as_for_a_plan(tmp_path: Path) -> None:
    store = tmp_path / "results.sqlite"
    stored_study(store, [1000, 2000, 4000, 8000])
    out = ("--out", str(tmp_path / "page.html"))
    percent, share = (run(str(store), "--target-score", one, *out) for one in ("88", "0.88"))
    assert percent == share
    assert "88.0 %" in percent
    with pytest.raises(SettingsError, match="target score 120 is out of range; expected accuracy above 0 and below 1"):
        run(str(store), "--target-score", "120", *out)


def test_methods_that_a_study_averages_are_said() -> None:
    rows = [
        ("synthetic", method, n, 600, factor * (2 * n**-0.4 + 0.1))
        for method, factor in (("fine-tune", 1.0), ("linear-probe", 1.3))
        for n in (1000, 2000, 4000)
    ]
    errors = pd.DataFrame(rows, columns=["source", "method", "n", "s", "error"])
    notes = analyse_errors(errors, StudyQuestion(ScalingQuestion(), ("source",))).notes
    assert notes[0] == (
        "2 rows at source = synthetic, n = 1,000 differ in method (fine-tune and linear-probe) and were averaged as "
        "repeats; give --by source --by method for a curve of each"
    )
    apart = analyse_errors(errors, StudyQuestion(ScalingQuestion(), ()))
    assert len(apart.curves) == 2
    assert not any("averaged" in note for note in apart.notes)


@pytest.mark.long
def test_the_report_of_the_study_shows_the_law_and_first_what_it_rests_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "results.sqlite"
    stored_study(store, [1000, 2000, 4000])
    assert part_of(store) is None
    printed = run(str(store), "--target-score", "88", "--out", str(tmp_path / "page.html"))
    assert f"The report shows this now: transferscope report {store}" in printed
    part = part_of(store)
    assert part.question == "how much"
    assert part.sentence in printed
    (section,) = part.sections
    assert [type(block) for block in section.blocks] == [Figure, Table, Points]
    table = section.blocks[1]
    assert isinstance(table, Table)
    assert [row[0].text for row in table.rows] == ["synthetic, fine-tune"]
    monkeypatch.setattr(of_study, "may_be_cut_off_in_words", lambda _: ("Cut off.",))
    first, *_, last = part_of(store).sections[0].blocks
    assert first == Text("Cut off.", "warning")
    assert last == section.blocks[-1]  # and not once more
    assert "Cut off." in run(str(store), "--out", str(tmp_path / "page.html"))


@pytest.mark.long
def test_the_report_asks_the_same_of_the_runs_there_are(tmp_path: Path) -> None:
    store = tmp_path / "results.sqlite"
    stored_study(store, [1000, 2000, 4000])
    run(str(store), "--out", str(tmp_path / "page.html"))
    stored_study(store, [1000, 2000, 4000, 8000])
    part = part_of(store)
    assert part is not None
    assert part.sentence in run(str(store), "--out", str(tmp_path / "page.html"))


def test_a_law_that_cannot_be_read_leaves_the_report_whole(tmp_path: Path) -> None:
    place = tmp_path / "results.sqlite"
    stored_study(place, [1000, 2000, 4000])
    run(str(place), "--out", str(tmp_path / "page.html"))
    with Store.open(place) as store:
        kept = store.study_documents("study")["scaling"]
    damages: list[dict[str, object]] = [
        {"format": 9},
        {"question": "no"},
        {"question": {"target_score": -1.0}},
        {"question": {"loss": "none"}},
        {"by": ["nothing"]},
    ]
    for damage in damages:
        with Store.open(place) as store:
            store.put_study_document("study", "scaling", kept | damage)
        (warning,) = part_of(place).sections[0].blocks
        assert isinstance(warning, Text)
        assert warning.tone == "warning", damage
        assert "run `transferscope scaling` again" in warning.text


def part_of(place: Path) -> Part | None:
    with Store.open(place, create=False) as store:
        return study_part(read_study(store, "study"))


@pytest.mark.long
def test_training_from_scratch_is_no_pretraining(tmp_path: Path) -> None:
    store = tmp_path / "results.sqlite"
    stored_study(store, [0, 1000, 2000, 4000, 8000, 16000])
    printed = run(str(store), "--target-score", "88", "--out", str(tmp_path / "page.html"))
    assert re.search(r"synthetic, fine-tune +5 +16,000 \(85\.8 %\)", printed)
    assert "synthetic, scratch" not in printed
    assert "nan" not in printed


def test_a_study_with_one_size_is_told_how_to_get_more(tmp_path: Path) -> None:
    store = tmp_path / "results.sqlite"
    stored_study(store, [1000])
    with pytest.raises(DataError, match=r"give sizes = \[1000, 2000, 4000, 8000\] under \[pretraining\]"):
        run(str(store))
