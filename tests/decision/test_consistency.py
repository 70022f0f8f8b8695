"""Random studies of every shape: no part of a decision contradicts another; runs that are proposed can be made."""

from dataclasses import asdict, replace
from json import dumps
from typing import Any

import numpy as np
import pytest

from transferscope.decision import Scores, decide, next_runs


def study(rng: np.random.Generator) -> Scores:
    """Arms of either kind or one, seeds missing or failed, unstable and unfinished arms, a few or many runs."""
    k, s = int(rng.integers(1, 13)), int(rng.integers(1, 8))
    scale = float(rng.choice([0.0, 0.3, 1.0, 5.0]))
    values = 80 + float(rng.choice([0, 1, 4])) * rng.normal(size=(k, 1)) + rng.normal(size=(1, s))
    values = values + scale * rng.normal(size=(k, s))
    if rng.random() < 0.3:
        values[rng.integers(k), rng.integers(s)] -= 40
    if rng.random() < 0.2:
        values = np.round(values)
    source = rng.random(k) < rng.choice([0.0, 0.5, 0.8, 1.0])
    values[source] += rng.choice([-5, 0, 2, 8])
    failed = rng.random((k, s)) < rng.choice([0.0, 0.1])
    made = np.arange(s) < (rng.integers(0, s + 1, size=(k, 1)) if rng.random() < 0.5 else s)
    if rng.random() < 0.2:  # methods that draw nothing
        fixed = rng.random(k) < 0.5
        values[fixed] = values[fixed, :1]
    values[failed | ~made] = np.nan
    cost = np.exp(rng.normal(scale=2, size=k))
    cost[rng.random(k) < 0.1] = np.nan
    profile = rng.normal(size=(k, 20)) * 0.2
    return Scores(
        arms=tuple(f"arm {i}" for i in range(k)),
        values=values,
        with_source=source,
        clusters=np.where(source, rng.integers(0, 3, size=k), 3 + np.arange(k)),
        cost=cost,
        example_variance=((profile[:, None] - profile) ** 2).sum(2) if rng.random() < 0.5 else None,
        unfinished=rng.random(k) < rng.choice([0.0, 0.2]),
        failed=failed & made,
        resolution=float(rng.choice([0.0, 1.0])),
        bounds=(0.0, 100.0) if rng.random() < 0.5 else (-np.inf, 100.0),
    )


def contradictions(scores: Scores, said: Any) -> list[str]:
    """Sentences that a reader of the record could hold against it."""
    arms = {arm.name: arm for arm in said.arms}
    span = scores.bounds[1] - scores.bounds[0]
    best = max((arm.mean for arm in said.arms if arm.mean is not None and not arm.with_source), default=None)
    rising = any(arm.unfinished and arm.n_seeds for arm in said.arms if not arm.with_source)
    excludes = {
        arm.name: arm.gain is not None and arm.gain.low is not None and (arm.gain.low > 0 or arm.gain.high < 0)
        for arm in said.arms
    }
    chosen = arms.get(said.recommended) if said.recommended else None
    checks = {
        "helps exactly when an arm is called better": said.outcome.startswith("helps") == bool(said.helping),
        "helping are those called better": set(said.helping) == {a.name for a in said.arms if a.call == "better"},
        "harmful are those called worse": set(said.harmful) == {a.name for a in said.arms if a.call == "worse"},
        "an interval excludes 0 exactly when called": all(
            excludes[a.name] == (a.call in ("better", "worse")) for a in said.arms
        ),
        "p is small exactly when called": all(
            a.gain is None or a.gain.p is None or (a.gain.p < 1 - said.level) == (a.call in ("better", "worse"))
            for a in said.arms
        ),
        "the sign is that of the call": all(
            (a.call != "better" or a.gain.value > 0) and (a.call != "worse" or a.gain.value < 0)
            for a in said.arms
            if a.gain
        ),
        "the interval holds the value": all(
            a.gain is None or a.gain.low is None or a.gain.low <= a.gain.value <= a.gain.high for a in said.arms
        ),
        "intervals end where scores do": all(
            (a.gain is None or a.gain.low is None or max(-a.gain.low, a.gain.high) <= span)
            and (a.mean is None or scores.bounds[0] <= a.mean <= scores.bounds[1])
            for a in said.arms
        ),
        "a mean is that of its runs, or adjusted where runs are missing": all(
            a.mean is None
            or (
                a.adjusted != (a.mean == pytest.approx(np.nanmean(scores.values[i]), rel=1e-9))
                and (not a.adjusted or np.isnan(scores.values[:, ~np.isnan(scores.values).all(0)]).any())
            )
            for i, a in enumerate(said.arms)
        ),
        "gain is over the best without a source": all(
            a.gain is None or a.gain.value == pytest.approx(a.mean - best) for a in said.arms
        ),
        "the difference is the gain of the best": said.difference is None
        or (
            said.difference == arms[said.best_transfer_arm].gain
            and (not said.helping or said.best_transfer_arm == said.helping[0])
        ),
        "a tie is of the best arm with a source, within the margin on both sides": said.outcome != "tie"
        or min(
            arms[said.best_transfer_arm].gain.low + said.margin, said.margin - arms[said.best_transfer_arm].gain.high
        )
        > 0,
        "no gain above the margin beside no": said.outcome not in ("no", "tie")
        or all(a.gain is None or a.gain.high < said.margin or a.unstable or a.n_seeds < 3 for a in said.arms),
        "no call with two seeds, or beside an arm that could rise": all(
            a.call != "better" or (a.n_seeds >= 3 and not rising) for a in said.arms
        ),
        "recommended exactly when there is a run": (chosen is None) == (said.outcome == "nothing"),
        "inconclusive has a reason, and nothing else has": (said.outcome == "inconclusive") == bool(said.why),
        "a helping arm is recommended, or a baseline, or one that is far more likely to be good": not said.helping
        or chosen is None
        or chosen.name in said.helping
        or not chosen.with_source
        or min(arms[name].shortfall for name in said.helping) > chosen.shortfall + said.margin / 2 - 1e-9,
        "within the margin exactly when the recommended has no source": chosen is None
        or (said.outcome == "helps, within the margin") == (bool(said.helping) and not chosen.with_source),
        "the recommended is not worse": chosen is None or chosen.call != "worse" or len(said.arms) == 1,
        "the chance is that of the recommended": chosen is None or said.chance == chosen.chance,
        "decided is .95 of an arm with two seeds": said.decided
        == (said.chance >= 0.95 and chosen is not None and chosen.n_seeds >= 2),
        "seeds are counted": all(
            a.n_seeds == (~np.isnan(scores.values[i])).sum() and a.n_failed == scores.failed[i].sum()
            for i, a in enumerate(said.arms)
        ),
        "all missing are named": set(said.missing)
        == {a.name for a in said.arms if a.n_seeds < max(b.n_seeds for b in said.arms)},
        "more seeds are for what is inconclusive": said.more_seeds is None or said.outcome == "inconclusive",
        "a baseline is within the margin of the best only where transfer does not help by more": said.expected is None
        or all(
            a.chance <= 1 - said.expected.helps + 1e-9
            if not a.with_source
            else a.chance <= 1 - said.expected.harms + 1e-9
            for a in said.arms
        ),
        "the only baseline is so exactly then": said.expected is None
        or sum(not a.with_source and a.n_seeds > 0 for a in said.arms) > 1
        or arms[said.best_baseline].chance == pytest.approx(1 - said.expected.helps),
        "JSON holds it": "NaN" not in dumps(asdict(said)) and "Infinity" not in dumps(asdict(said)),
    }
    return [name for name, holds in checks.items() if not holds]


@pytest.mark.parametrize("part", [3, pytest.param(1, marks=pytest.mark.long)])
def test_no_part_of_a_decision_contradicts_another(part: int) -> None:
    rng = np.random.default_rng(part)
    outcomes = set()
    for _ in range(40):
        scores = study(rng)
        said = decide(scores)
        assert not contradictions(scores, said), scores
        outcomes.add(said.outcome)
        proposed = next_runs([scores], at_once=3)
        assert len(set(proposed.runs)) == len(proposed.runs) <= 3
        assert bool(proposed.runs) == (not proposed.done)
        for run in proposed.runs:
            assert not scores.failed[run.arm, run.seed]
            assert np.isnan(scores.values[run.arm, run.seed])
    assert outcomes >= {"helps", "inconclusive", "no source", "no control"}


def test_the_order_of_arms_and_a_shift_of_all_scores_change_nothing() -> None:
    rng = np.random.default_rng(9)
    for _ in range(15):
        scores = study(rng)
        scores = replace(scores, values=scores.values + 1e-6 * rng.normal(size=(len(scores.arms), 1)))  # no ties
        order = rng.permutation(len(scores.arms))
        extra = scores.example_variance
        other = Scores(
            tuple(scores.arms[i] for i in order),
            scores.values[order] + 8,
            scores.with_source[order],
            scores.clusters[order],
            scores.cost[order],
            None if extra is None else extra[np.ix_(order, order)],
            scores.unfinished[order],
            scores.failed[order],
            scores.resolution,
        )
        one, two = decide(scores), decide(other)
        assert (one.outcome, one.why) == (two.outcome, two.why)
        assert set(one.helping) == set(two.helping)
        assert one.best_baseline == two.best_baseline
        if one.difference is not None and one.difference.low is not None and two.difference is not None:
            assert (two.difference.low, two.difference.high) == pytest.approx(
                (one.difference.low, one.difference.high), rel=1e-6, abs=1e-6
            )


@pytest.mark.parametrize("unit", [1e-4, pytest.param(1e6, marks=pytest.mark.long)])
def test_scores_in_another_unit_give_the_same_in_that_unit(unit: float) -> None:
    """But for fewer than three arms with two runs, which know the noise of a run in points."""
    rng = np.random.default_rng(2)
    compared = 0
    for _ in range(20):
        scores = study(rng)
        extra = scores.example_variance
        other = replace(
            scores,
            values=unit * scores.values,
            resolution=unit * scores.resolution,
            bounds=(unit * scores.bounds[0], unit * scores.bounds[1]),
            example_variance=None if extra is None else unit**2 * extra,
        )
        one, two = decide(scores), decide(other, margin=unit)
        assert (one.helping, one.harmful) == (two.helping, two.harmful)
        if sum(arm.n_seeds >= 2 and not arm.unstable for arm in one.arms) < 3:
            continue
        compared += 1
        assert (one.outcome, one.recommended) == (two.outcome, two.recommended)
        settle, other_settle = (said.more_seeds and asdict(said.more_seeds) for said in (one, two))
        assert (settle and settle.pop("arms")) == (other_settle and other_settle.pop("arms"))
        assert settle == pytest.approx(other_settle)
        numbers = [[(arm.mean, arm.shortfall) for arm in said.arms if arm.n_seeds] for said in (one, two)]
        first, second = (np.array(found, dtype=float) for found in numbers)
        np.testing.assert_allclose(second, unit * first, rtol=1e-4, atol=1e-6 * unit)
    assert compared > 8


def test_bad_input_gets_one_sentence() -> None:
    scores = study(np.random.default_rng(1))
    for change in ({"arms": scores.arms[:-1]}, {"cost": -np.ones(len(scores.arms))}, {"resolution": -1.0}):
        with pytest.raises(ValueError, match=r"expected|at least"):
            replace(scores, **change)
