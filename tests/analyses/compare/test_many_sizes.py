"""Every number of labels is answered: in the terminal, at any width, and in the grid of the page."""

import re
from itertools import product

import numpy as np
import pytest

from made_up import made_up
from transferscope.analyses.compare.grid import arm_rows
from transferscope.analyses.compare.lines import lines_of
from transferscope.analyses.compare.statements import answers, outcomes_in_words
from transferscope.analyses.compare.study_page import study_sections
from transferscope.analyses.compare.summary import Summary, summarise_frames
from transferscope.analyses.compare.words import words_of
from transferscope.report.blocks import Overview, Table
from transferscope.report.page import render_blocks

SIZES = (10, 20, 160, 320, 1280)
ARMS = [("scratch", ""), ("ridge", ""), *product(("linear-probe", "merlin"), ("a", "b", "c", "d"))]


@pytest.fixture(scope="module")
def summary() -> Summary:
    """Ten arms at five sizes; transfer helps with the fewest and harms with the most."""
    rng = np.random.default_rng(3)
    scores = {
        (arm, n): 0.5 + 0.05 * at + bool(arm[1]) * (0.1 - 0.05 * at) + rng.normal(0, 0.004, 5)
        for (at, n), arm in product(enumerate(SIZES), ARMS)
    }
    return summarise_frames(made_up(scores))


@pytest.mark.parametrize("columns", [40, 63, 80, 200])
def test_every_number_of_labels_has_a_row_in_a_terminal_of_any_width(
    columns: int, summary: Summary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = lines_of(summary.frames, summary.decided, answers=summary.verdict.headline.splitlines())
    assert max(map(len, lines)) <= max(40, min(columns, 80))
    for n, decision in summary.decided.items():
        (row,) = [line for line in lines if line.startswith(f"{n:>6,}  ")]
        means = {arm.name: arm for arm in decision.arms}
        assert decision.best_transfer_arm is not None
        best = means[decision.best_transfer_arm]
        assert best.gain is not None
        assert f"{best.mean:.1f} %" in row
        assert f"{best.gain.value:+z.1f}".replace("-", "−") in row
        assert ("better" in row) == (best.call == "better")
        if columns >= 80:
            assert f"{means[str(decision.best_baseline)].mean:.1f} %" in row
            assert f"{best.gain.low:+z.1f} to {best.gain.high:+z.1f}".replace("-", "−") in row
    assert len(set(summary.verdict.outcomes.values())) > 1


def test_the_page_has_every_arm_at_every_number_of_labels_in_one_grid(summary: Summary) -> None:
    (overview,) = [block for block in study_sections(summary)[0].blocks if isinstance(block, Overview)]
    assert isinstance(overview.picture, Table)
    assert "\n" not in overview.headline
    groups = [row[0].text for row in overview.picture.rows if row[0].tone == "group"]
    assert groups == ["Baselines", *(f"From {name}" for name in "abcd")]
    together, _ = arm_rows(summary, most_groups=3)
    named = [arm[0] for name, arm in together if arm and name.endswith(f" from {arm[0]}")]
    assert sorted(named) == sorted(2 * "abcd")
    rows = [row for row in overview.picture.rows if row[0].tone != "group"]
    assert sorted(cell.text for row in rows for cell in row[1:]) == sorted(
        f"{100 * c.score.value:.1f} %" for c in summary.comparisons
    )
    assert not overview.picture.sortable
    for at, (n, decision) in enumerate(summary.decided.items()):
        facts = {arm.name: arm for arm in decision.arms}
        (bold,) = [row[1 + at].text for row in rows if row[1 + at].tone == "best"]
        assert bold == f"{facts[str(decision.recommended)].mean:.1f} %", n
    shades = [(c.facts.gain.value, f"{c.facts.mean:.1f} %") for c in summary.comparisons if c.facts.gain]
    cells = [cell for row in rows for cell in row[1:] if cell.shade]
    widest = max(abs(gain) for gain, _ in shades)
    assert sorted(cell.shade for cell in cells) == pytest.approx(sorted(gain / widest for gain, _ in shades))
    html = render_blocks([overview])
    assert html.count("<tr") == 1 + len(groups) + len(rows)
    assert html.count("var(--below)") == sum(cell.shade < 0 for cell in cells)


def test_what_to_do_next_is_what_has_the_greatest_chance(summary: Summary) -> None:
    chances = {n: one.more_seeds.chance for n, one in summary.decided.items() if one.more_seeds is not None}
    told = " ".join(" ".join(summary.verdict.lines).split())
    if chances:
        assert f"({max(chances, key=lambda n: chances[n]):,} labels)" in told


def test_harm_is_harm_in_the_answer_and_in_few_words(summary: Summary) -> None:
    """Where the whole interval of the best transfer arm lies below 0, and nowhere else."""
    for n, decision in summary.decided.items():
        assert decision.difference is not None
        below = decision.outcome == "no" and (decision.difference.high or 0.0) < 0
        (line,) = (one for one in answers(summary.frames, {n: decision}) if one.kind == decision.outcome)
        assert line.facts["harms"] == below
        assert ("harms" in outcomes_in_words({n: decision})) == below
        assert ("harms" in words_of(summary.frames).say(line).split(":")[0]) == below
    assert {decision.outcome for decision in summary.decided.values()} >= {"helps", "no"}


@pytest.mark.parametrize("n_arms", range(2, 10))
def test_every_arm_has_its_row_or_is_counted(n_arms: int) -> None:
    rng, arms = np.random.default_rng(4), ARMS[:1] + ARMS[2 : n_arms + 1]
    drawn = summarise_frames(made_up({(arm, 10): 0.5 + rng.normal(0, 0.01, 5) for arm in arms}))
    lines = lines_of(drawn.frames, drawn.decided, answers=["One sentence."])
    shown = [line for line in lines if re.search(r"\d\d\.\d %", line)]
    counted = [tuple(map(int, at.groups())) for line in lines if (at := re.search(r"\((\d+) of (\d+) arms\)$", line))]
    assert counted == ([(len(shown), n_arms)] if len(shown) < n_arms else [])
    assert len(arms) == n_arms
    assert all(len(line) <= 80 for line in lines)


def test_a_long_name_is_broken_behind_a_sign() -> None:
    tuned = "fine-tune_from_imagenet_21k"
    scores = {
        (arm, n): 0.5 + bool(arm[1]) * 0.1 + np.arange(4) / 500
        for n in SIZES
        for arm in (("scratch", ""), (tuned, "zz"))
    }
    lines = summarise_frames(made_up(scores)).verdict.lines
    pieces = [word for line in lines for word in line.split() if word in tuned and word not in ("from", tuned)]
    assert "".join(pieces) == tuned * len(SIZES)
    assert all(one.endswith(("_", "-", "21k")) for one in pieces)
    assert len(pieces) > len(SIZES)
