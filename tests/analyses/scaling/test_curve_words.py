"""The advice on one curve in words: what must be said, and what must not."""

import numpy as np
import pytest
from numpy.typing import ArrayLike

from scaling.examples import SIZES
from transferscope.analyses.scaling.analysis import analyse
from transferscope.analyses.scaling.curve_words import disagreement, headline, paragraph
from transferscope.analyses.scaling.question import Question
from transferscope.analyses.scaling.tables import curves_table
from transferscope.analyses.scaling.words import verdict
from transferscope.estimate import Estimate, Interval
from transferscope.scaling import advise, observe
from transferscope.scaling.advice import Decision, NextRun, SurfaceRun

STEEP = 3.0 * SIZES**-0.4 + 0.05


def said(sizes: ArrayLike, errors: ArrayLike, *, target: float | None = None, stderr: ArrayLike | None = None) -> str:
    advice = advise(sizes, errors, target_error=target, stderr=stderr)
    return paragraph(advice, observe(sizes, errors, stderr=stderr))


def test_the_paragraph_names_what_matters() -> None:
    text = said(SIZES, STEEP, target=0.01)
    assert "not reachable with this data" in text
    assert "scenario c" in text
    helps = said(SIZES, STEEP, target=0.06)
    assert "It was chosen by time, taken as proportional to n; give --cost-pretrain" in helps


def test_a_curve_that_rises_again_is_pointed_out() -> None:
    text = said(SIZES, [0.5, 0.4, 0.3, 0.28, 0.33, 0.41, 0.5], target=0.1)
    assert "The error rises again after n = 8,000 (from 0.28 to 0.5), which the law behind the probabilities" in text
    rising = said(SIZES[:5], [0.2, 0.3, 0.35, 0.4, 0.45], target=0.1)
    assert "The error rises from the start (from 0.2 to 0.45)" in rising
    assert "Nothing measured suggests that more of this data reaches the target error 0.1." in rising
    assert "transfer gap" not in rising
    assert "next run" not in rising
    reached = said(SIZES[:5], [0.2, 0.3, 0.35, 0.4, 0.45], target=0.25)
    assert "The target error 0.25 is reached already." in reached
    assert "transfer gap" not in reached


@pytest.mark.parametrize(
    ("errors", "target", "status"),
    [
        ([0.2, 0.3, 0.35, 0.4, 0.45], 0.1, "does not fall"),
        ([0.2, 0.3, 0.35, 0.4, 0.45], 0.25, "reached"),
        ([0.2, 0.3, 0.35, 0.4, 0.45], None, "converged"),
        (STEEP[:5], 0.001, "scenario c"),
    ],
)
def test_the_table_names_a_scenario_where_the_text_does(errors: ArrayLike, target: float | None, status: str) -> None:
    analysis = analyse({"all rows": observe(SIZES[:5], errors)}, Question(target_error=target))
    text = verdict(analysis)
    assert ("(scenario" in text) == status.startswith("scenario")
    assert ("Nothing measured suggests" in text) == (status == "does not fall")
    assert curves_table(analysis).rows[0][-1].text == status


def test_an_error_of_zero_is_not_said_to_be_what_it_was_read_as() -> None:
    text = said(np.append(SIZES, 2 * SIZES[-1]), np.append(STEEP, 0.0))
    assert f"0 at n = {2 * SIZES[-1]:,.0f} (8 sizes)" in text
    assert "measured: 0, read as " in text


def test_a_repeated_measurement_that_rises_within_its_noise_is_not_pointed_out() -> None:
    errors = np.array([0.5, 0.4, 0.30, 0.32, 0.34])
    assert "rises" in said(SIZES[:5], errors, stderr=np.full(5, 0.002))
    assert "rises" not in said(SIZES[:5], errors, stderr=np.full(5, 0.02))


def test_pretraining_that_does_not_help_is_the_first_thing_to_say() -> None:
    sizes, errors = np.append(0.0, SIZES), np.append(0.05, STEEP)
    advice, measured = advise(sizes, errors, target_error=0.01), observe(sizes, errors)
    found = "Without pre-training (n = 0) the error is 0.05, no higher than with it at any size"
    assert headline(advice, measured) == f"{found}: so far this pre-training does not help."
    assert headline(advice, measured) in paragraph(advice, measured)
    measured = observe(sizes, np.append(0.5, STEEP))  # the laws do not use n = 0, so the advice is the same
    assert "Without pre-training (n = 0) the error is 0.5." in paragraph(advice, measured)
    assert headline(advice, measured).startswith("The target error 0.01 is not reachable with this data")


def test_few_sizes_are_warned_about() -> None:
    warning = "With 3 sizes these numbers are rough: measure at least 5 sizes before you decide."
    assert warning in said(SIZES[:3], STEEP[:3], target=0.1)
    assert "these numbers are rough" not in said(SIZES[:5], STEEP[:5], target=0.1)


@pytest.mark.parametrize(
    ("plan", "reached", "feasible", "apart"),
    [
        ((100.0, 10.0), 0.9, 0.1, True),  # the same plan
        ((100.0, 10.0), 0.1, 0.9, True),
        ((50.0, 5.0), 0.9, 0.1, True),  # less of both and yet likelier
        ((50.0, 5.0), 0.1, 0.9, False),  # less of both and less likely
        ((50.0, 20.0), 0.9, 0.1, False),  # more labels
        ((100.0, 10.0), 0.5, 0.3, False),
    ],
)
def test_contradictions_are_pointed_out(
    plan: tuple[float, float], reached: float, feasible: float, apart: bool
) -> None:
    some = Estimate(1.0, None, 1, "ok", Interval(1.0, 1.0, 0.9))
    decision = Decision(0.1, 100.0, "a", 1.0, feasible, some, some, some, falls=True)
    found = SurfaceRun(NextRun(1.0, 1.0, 0.5, None), *plan, target_error=0.1, reached=reached)
    sentence = disagreement(decision, found, largest_s=10.0)
    assert bool(sentence) is apart
    if apart:
        assert sentence == (
            f"The curve at s = 10 alone gives {100 * feasible:.0f} % up to n = 100: the two rest on different laws, so "
            "make the next run before you choose."
        )
