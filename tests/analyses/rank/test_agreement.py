"""Correlations and points lost of made-up scores, counted by hand."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from transferscope.analyses.rank.agreement import (
    AT_RANDOM,
    STATIC_LIST,
    Audit,
    AuditCase,
    audit_cases,
    with_static_list,
)
from transferscope.analyses.rank.audit_question import kernel_distance
from transferscope.analyses.rank.audit_result import lead_in_words, sentences

SOURCES = ("a", "b", "c")


def case(
    target: str, measured: list[float], n_target: int = 50, **scores: Sequence[float] | Sequence[Sequence[float]]
) -> AuditCase:
    values = {name.replace("_", " "): np.atleast_2d(np.array(found, dtype=float)) for name, found in scores.items()}
    return AuditCase(target, n_target, (f"{target}-{n_target}",), SOURCES, np.array(measured), 5, values)


def audited(*cases: AuditCase) -> Audit:
    return audit_cases("fine-tune", "accuracy", cases)


def test_numbers_of_one_case_are_those_counted_by_hand() -> None:
    # measured places 1 2 3; "swapped" has 2 1 3: rho = 1 - 6 (1 + 1 + 0) / (3 (9 - 1)) = 0.5; it picks b: 0.9 - 0.8.
    # Weighted tau with weights 1 / (place + 1), place from 0, of both members of a pair, by the places of the measured
    # and of the score, averaged: by measured: pairs ab 1 + 1/2, ac 1 + 1/3, bc 1/2 + 1/3; ab is discordant:
    # (-3/2 + 4/3 + 5/6) / (3/2 + 4/3 + 5/6) = (2/3) / (11/3) = 2/11; by the score, b first: ab 3/2, ac 1/2 + 1/3,
    # bc 1 + 1/3, the same 2/11.
    first, second = (
        case(target, [0.9, 0.8, 0.4], right=[3, 2, 1], swapped=[2, 3, 1], same=[1, 1, 1]) for target in ("x", "y")
    )
    found = audited(first, second)
    right, swapped, same, at_random = (found.of(name) for name in ("right", "swapped", "same", AT_RANDOM))
    assert (right.spearman.value, right.weighted_tau.value, right.lost.value) == pytest.approx((1, 1, 0))
    assert swapped.spearman.value == pytest.approx(0.5)
    assert swapped.weighted_tau.value == pytest.approx(2 / 11)
    assert swapped.lost.value == pytest.approx(0.1)
    assert (same.spearman.value, same.weighted_tau.value) == (0, 0)
    assert same.lost.value == at_random.lost.value == pytest.approx(0.9 - 0.7)
    assert swapped.saved is not None
    assert swapped.saved.value == pytest.approx(0.2 - 0.1)
    assert [one.score for one in found.agreements] == ["right", "swapped", "same", AT_RANDOM]


def test_every_draw_of_labels_chooses_on_its_own() -> None:
    draws = [[3, 2, 1], [1, 2, 3]]
    found = audited(case("x", [0.9, 0.8, 0.4], score=draws), case("y", [0.9, 0.8, 0.4], score=draws)).of("score")
    assert found.spearman.value == pytest.approx(0)
    assert found.lost.value == pytest.approx((0 + 0.5) / 2)  # the mean of the draws would tie


def test_cases_of_one_target_count_as_one() -> None:
    good, bad = [3, 2, 1], [1, 2, 3]
    cases = [case("x", [0.9, 0.8, 0.4], n, score=good) for n in (10, 20, 30)] + [case("y", [0.9, 0.8, 0.4], score=bad)]
    found = audited(*cases).of("score")
    assert (found.n_targets, found.n_cases) == (2, 4)
    assert found.spearman.value == pytest.approx(0)
    assert found.lost.value == pytest.approx((0 + 0.5) / 2)
    assert found.spearman.interval is not None
    assert (found.spearman.low, found.spearman.high) == (-1, 1)


def test_intervals_are_over_targets_and_about_those_of_t() -> None:
    rng = np.random.default_rng(0)
    cases, rhos = [], []
    for target in range(30):
        measured, score = rng.normal(size=3), rng.normal(size=3)
        rhos.append(stats.spearmanr(score, measured).statistic)
        cases += [case(f"t{target}", measured.tolist(), n, score=score.tolist()) for n in (10, 20, 30, 40)]
    found = audited(*cases).of("score").spearman
    assert found.value == pytest.approx(np.mean(rhos))
    ends = stats.t.interval(0.95, 29, loc=np.mean(rhos), scale=stats.sem(rhos))
    assert (found.low, found.high) == pytest.approx(ends, abs=0.05)


def test_a_score_without_a_value_of_every_source_does_not_count_there() -> None:
    cases = [case(name, [0.9, 0.8, 0.4], score=[3, 2, 1]) for name in "xyz"]
    cases[2] = case("z", [0.9, 0.8, 0.4], score=[3, math.nan, 1])
    found = audited(*cases).of("score")
    assert (found.n_targets, found.n_cases) == (2, 2)
    nothing = audited(*(case(name, [0.9, 0.8, 0.4], none=[math.nan] * 3) for name in "xy")).of("none")
    assert (nothing.n_cases, nothing.spearman.status) == (0, "undefined")


def test_the_static_list_reads_other_targets_only() -> None:
    cases = with_static_list(
        [
            case("x", [0.9, 0.8, 0.4], 10),
            case("x", [0.9, 0.8, 0.4], 20),
            case("y", [0.1, 0.2, 0.3], 10),
            case("z", [0.5, 0.5, 0.9], 10),
        ]
    )
    # places: x 0, 1/2, 1 (twice, one target); y 1, 1/2, 0; z: a and b tie in places 2 and 3: 3/4, 3/4, 0
    assert cases[0].scores[STATIC_LIST] == pytest.approx(-np.array([[(1 + 0.75) / 2, (0.5 + 0.75) / 2, 0]]))
    assert cases[2].scores[STATIC_LIST] == pytest.approx(-np.array([[(0 + 0.75) / 2, (0.5 + 0.75) / 2, 0.5]]))
    other = replace(cases[0], target="w", sources=("a", "b", "new"))
    assert np.isnan(with_static_list([*cases, other])[-1].scores[STATIC_LIST][0]).tolist() == [False, False, True]


def test_p_values_are_those_of_t_over_targets_corrected_by_holm() -> None:
    rng = np.random.default_rng(2)
    measured = rng.normal(size=(8, 3))
    tables = {"good": measured + 0.5 * rng.normal(size=(8, 3)), "other": rng.normal(size=(8, 3))}
    cases = [
        case(f"t{i}", measured[i].tolist(), **{name: values[i].tolist() for name, values in tables.items()})
        for i in range(8)
    ]
    found = audited(*cases)
    rhos = {n: [stats.spearmanr(v[i], measured[i]).statistic for i in range(8)] for n, v in tables.items()}
    raw = {name: stats.ttest_1samp(values, 0).pvalue for name, values in rhos.items()}
    assert raw["good"] < raw["other"]
    assert 2 * raw["good"] <= found.of("good").p_value < 2 * raw["good"] + 0.01  # of the permutation test
    assert found.of("other").p_value >= raw["other"]
    assert found.leader == "good"
    assert lead_in_words(found).startswith("Lead with good: over 8 targets (8 cases) its order agrees with what fine-")
    assert "corrected for 2 scores and controls" in lead_in_words(found)
    assert any(said.startswith("8 targets are few and support little") for said in sentences(found))


def test_agreeing_by_chance_every_time_is_counted_over_orders() -> None:
    # three orders of three sources are all right with probability (1 / 6)^3, and all wrong with the same
    found = audited(*(case(name, [0.9, 0.8, 0.4], score=[3, 2, 1]) for name in "xyz"))
    assert found.of("score").p_value == pytest.approx(2 / 216, abs=0.007)
    # two cases of one target that share their sources change places together, and are no more than one
    doubled = [case(name, [0.9, 0.8, 0.4], n, score=[3, 2, 1]) for name in "xyz" for n in (50, 300)]
    assert audited(*doubled).of("score").p_value == pytest.approx(2 / 216, abs=0.007)


@pytest.mark.long
def test_no_score_leads_on_noise_or_on_two_targets() -> None:
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(40):
        cases = [
            case(f"t{i}", rng.normal(size=3).tolist(), **{f"s{k}": rng.normal(size=3).tolist() for k in range(4)})
            for i in range(5)
        ]
        wrong += audited(*with_static_list(cases)).leader is not None
    assert wrong <= 6  # 5 % at most; P(Binomial(40, 0.05) > 6) = 0.003
    two = audited(*(case(name, [0.9, 0.8, 0.4], score=[3, 2, 1]) for name in "xy"))
    assert two.leader is None
    assert lead_in_words(two) == "2 targets cannot support any score: a spread over targets takes 3 or more."


def test_static_lists_are_made_of_each_other() -> None:
    # beside the first target's order, the two others have 36 pairs of orders: in one all lists agree with what was
    # measured, and in two (the orders turned in a circle, as 123 231 312) all lists are opposed to it
    cases = with_static_list([case(name, [0.9, 0.8, 0.4]) for name in "xyz"])
    assert audited(*cases).of(STATIC_LIST).p_value == pytest.approx(3 / 36, abs=0.02)


def test_the_leader_is_held_against_the_controls() -> None:
    rng = np.random.default_rng(2)
    cases = []
    for i in range(12):
        measured = rng.normal(size=3)
        best = measured + 0.1 * rng.normal(size=3)
        knn, accuracy = (-measured).tolist(), (measured + 0.1 * rng.normal(size=3)).tolist()
        cases.append(case(f"t{i}", measured.tolist(), best=best.tolist(), knn=knn, source_accuracy=accuracy))
    found = audited(*cases)
    assert found.leader is not None
    assert found.beside["knn"].sign == 1
    said = " ".join(sentences(found))
    assert "It loses clearly less than knn" in said
    assert "Worse than picking at random: knn." in said
    assert "few" not in said


def test_the_kernel_distance_is_that_of_its_three_means() -> None:
    target, source = np.array([[0.0], [1.0]]), np.array([[0.0], [2.0]])
    # width 1: k(0, 1) = e^-1; k(0, 2) = e^-4; across: 0-0 1, 0-2 e^-4, 1-0 e^-1, 1-2 e^-1
    expected = math.exp(-1) + math.exp(-4) - 2 * (1 + math.exp(-4) + 2 * math.exp(-1)) / 4
    assert kernel_distance(target, source) == pytest.approx(expected)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 4))
    near, far = rng.normal(size=(300, 4)), rng.normal(size=(300, 4)) + 1
    assert abs(kernel_distance(x, near)) < 0.01 < kernel_distance(x, far)
