"""What placements say: of one pair, of all pairs of a study, and whether rounding keeps it true."""

import math
import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.place.placed import NOT_MEASURED, point, ranged
from transferscope.estimate import Estimate, Interval
from transferscope_papers.place.placement import Placement
from transferscope_papers.place.tables import _number as table_number
from transferscope_papers.place.words import (
    _number,
    _percent,
    _signed,
    description_in_words,
    in_words,
    limits,
    signs_in_words,
)
from transferscope_papers.theory.placement import Pair, critical_share, modelled_transferability

UP, DOWN, ACROSS = ranged(0.2, 0.1, 0.3), ranged(-0.2, -0.3, -0.1), ranged(0.1, -0.1, 0.3)
ONE_SEED = Estimate(0.2, None, 1, "too_few")


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        (
            [(UP, UP), (UP, DOWN), (UP, ACROSS), (UP, ONE_SEED), (ACROSS, NOT_MEASURED)],
            "The linear-transfer model and the measurement have the same sign in 1 of 5 cases and opposite signs in 1; "
            "in 3 it cannot be told, because an interval holds 0, there is one seed or nothing was measured.",
        ),
        (
            [(DOWN, DOWN)],
            "The linear-transfer model and the measurement have the same sign in 1 of 1 case and opposite signs in 0.",
        ),
        (
            [(UP, NOT_MEASURED), (DOWN, NOT_MEASURED)],
            "Nothing was measured to hold the linear-transfer model against; that takes a linear probe and training "
            "from scratch on the same seeds.",
        ),
    ],
)
def test_cases_are_counted_in_a_sentence(pairs: list[tuple[Estimate, Estimate]], words: str) -> None:
    assert signs_in_words([point(modelled=modelled, measured=measured) for modelled, measured in pairs]) == words


APART, WITHIN = ranged(0.2, 0.1, 0.3), ranged(0.05, -0.1, 0.2)


@pytest.mark.parametrize(
    ("gaps", "words"),
    [
        (
            [APART, APART],
            "This model does not describe these pairs: held against the error of training from scratch on held-out "
            "examples, what it says agrees within what is known of both in 0 of 2 cases.",
        ),
        (
            [WITHIN],
            "This model describes these pairs: held against the error of training from scratch on held-out examples, "
            "what it says agrees within what is known of both in 1 of 1 case.",
        ),
        (
            [WITHIN, APART, ONE_SEED],
            "This model describes 1 of 2 pairs and numbers of labels, and not the others: held against the error of "
            "training from scratch on held-out examples, what it says agrees within what is known of both in 1 of 2 "
            "cases.",
        ),
        (
            [NOT_MEASURED],
            "Whether the linear-transfer model describes these pairs cannot be told: that takes two seeds of training "
            "from scratch to compare with.",
        ),
    ],
)
def test_whether_the_model_describes_the_pairs_is_said_first(gaps: list[Estimate], words: str) -> None:
    points = [point(n_target=i, modelled=UP, measured=UP, scratch_gap=gap) for i, gap in enumerate(gaps)]
    assert description_in_words(points) == words


def of_n(value: float, low: float, high: float, n: int = 100) -> Estimate:
    return Estimate(value, (high - low) / 4, n, "ok", Interval(low, high))


def placement(**changes: object) -> Placement:
    fields: dict[str, object] = {
        "name": "glyphs (1,000 examples)",
        "source": "glyphs",
        "n_source": 1000,
        "n_target": 50,
        "method": "linear-probe",
        "n_examples": 100,
        "kind": "regression",
        "outside_share": of_n(0.3, 0.25, 0.35),
        "noise_level": of_n(0.2, 0.1, 0.3),
        "input_dimension": of_n(25, 24, 26),
        "feature_dimension": of_n(4, 3, 5),
        "examples_per_dimension": of_n(2, 1.9, 2.1),
        "critical_share": of_n(0.1, 0.05, 0.15),
        "modelled": of_n(-0.2, -0.3, -0.1),
        "chance_negative": 1.0,
        "scratch_modelled": of_n(0.3, 0.2, 0.4),
        "scratch_measured": of_n(0.6, 0.55, 0.65, n=3),
        "scratch_gap": of_n(0.3, 0.2, 0.4, n=3),
        "measured": of_n(0.1, 0.05, 0.15, n=3),
        "gap": of_n(0.3, 0.2, 0.4, n=3),
    }
    return Placement(**{**fields, **changes})  # type: ignore[arg-type]


def test_a_placement_in_words() -> None:
    assert in_words(placement()) == (
        "The linear-transfer model does not describe the pair from glyphs (1000 examples) with 50 labels: it says a "
        "squared error from scratch of 0.3 (0.2 to 0.4), and held-out examples measured 0.6 (0.55 to 0.65). 30 % (25 "
        "to 35) of the target function lies outside the pretrained features; the noise is 0.2 (0.1 to 0.3) of its "
        "spread; 50 labels are 2 (1.9 to 2.1) for each of the 25 (24 to 26) directions of the inputs, and the features "
        "have 4 (3 to 5). The model says a transferability of −0.2 (−0.3 to −0.1), negative. In the model it turns "
        "negative where more than 10 % (5 to 15) lies outside: the pair is above the boundary by 20 points. Measured "
        "(linear-probe against scratch, 3 seeds): +0.1 (+0.05 to +0.15), 0.3 above the model (+0.2 to +0.4): the signs "
        "differ."
    )
    assert in_words(placement(scratch_gap=ranged(0.1, -0.1, 0.3))).startswith(
        "The linear-transfer model describes the pair from glyphs (1000 examples) with 50 labels: it says "
    )


def test_what_cannot_be_said_is_said() -> None:
    nothing = Estimate(math.nan, None, 0, "undefined")
    unmeasured = in_words(placement(method="", measured=nothing, gap=nothing, scratch_gap=nothing))
    assert unmeasured.endswith("the study has no linear probe; add [methods.linear-probe] to its file.")
    assert unmeasured.startswith(
        "Whether the linear-transfer model describes the pair from glyphs (1000 examples) with 50 labels cannot be told"
    )
    agreeing = in_words(placement(modelled=ranged(0.1, -0.1, 0.3), gap=ranged(0.01, -0.2, 0.2), chance_negative=0.2))
    assert "of either sign (negative with probability 20 %)" in agreeing
    assert agreeing.endswith("they agree within what is known of both.")
    wide = in_words(placement(feature_dimension=ranged(30, 20, 40), critical_share=ranged(0, 0, 0)))
    assert "negative whatever lies outside, because the features have no fewer directions than the inputs." in wide
    assert "cross-entropy" in limits([placement(), placement(kind="classification")])
    assert "cross-entropy" not in limits([placement()])


@pytest.mark.parametrize("k", [1.0, 5.0, 19.0, 20.0, 21.0, 60.0])
def test_the_reason_that_is_given_for_a_sign_is_the_models(k: float) -> None:
    """At every number of labels, those near k and d among them."""
    d, noise = 20.0, 0.1
    for n in (2, 4, 5, 6, 18, 19, 20, 21, 22, 100):
        for outside in (0.0, 0.05, 0.3, 0.9):
            pair = Pair(outside, noise, d, k)
            share, critical = float(pair.outside_share), float(critical_share(pair, n))
            said = in_words(
                placement(
                    n_target=n,
                    outside_share=ranged(share, share, share),
                    critical_share=ranged(critical, critical, critical),
                    input_dimension=ranged(d, d, d),
                    feature_dimension=ranged(k, k, k),
                )
            )
            gain = float(modelled_transferability(pair, n))
            if "negative whatever lies outside" in said:
                everywhere = Pair(np.linspace(0, 0.9, 50), noise, d, k)
                assert (modelled_transferability(everywhere, n) <= 1e-12).all()
            else:
                assert ("above the boundary" in said) == (gain < 0)


numbers = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: float(f"{x:.9g}"))


@pytest.mark.long
@given(st.tuples(numbers, numbers, numbers).map(sorted), st.sampled_from([_percent, _number, _signed, table_number]))
@settings(max_examples=500, deadline=None, derandomize=True)
def test_a_rounded_interval_holds_its_rounded_value(three: list[float], shown: Callable[[float], str]) -> None:
    low, value, high = three
    text = Estimate(value, None, 9, "ok", Interval(low, high)).shown(shown)
    read = [float(part.replace("−", "-").replace(",", "")) for part in re.split(r" \(| to |\)", text) if part]
    assert read[1] <= read[0] <= read[2], text


@pytest.mark.parametrize(("value", "low", "high"), [(0.1049, 0.09, 0.1046), (9.96, 9.0, 10.04), (0.001, 0.0019, 0.01)])
def test_an_interval_is_never_written_as_excluding_its_value(value: float, low: float, high: float) -> None:
    inside = Estimate(value, None, 9, "ok", Interval(min(low, value), max(high, value)))
    read = [float(part) for part in re.split(r" \(| to |\)", inside.shown(_number)) if part]
    assert read[1] <= read[0] <= read[2]
