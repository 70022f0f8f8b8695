"""Records of a decision's input and result: frozen, with plain values."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from transferscope.errors import DataError

Outcome = Literal[
    "helps",
    "helps, within the margin",
    "tie",
    "no",
    "inconclusive",
    "source is target",
    "no source",
    "no control",
    "nothing",
]
"""Whether a source helps.

helps: a transfer arm is significantly better than every baseline. helps, within the margin: likewise, but a baseline is
recommended, since it is not expected to lose more than the margin. no: no transfer arm gains more than the margin over
the best baseline. tie: likewise, and the interval of the best transfer arm's gain lies within the margin on both sides.
inconclusive: none of these. source is target: a source is the target's own data, so the study is not about transfer.
no source, no control, nothing: no transfer arm, no baseline, or no arm at all has a run.
"""

Call = Literal["better", "worse", "within the margin", "inconclusive", "not tested", ""]
"""Result of a transfer arm compared with the best baseline; "" for baselines."""

Covers = Literal["seeds and test examples", "seeds", "test examples", "nothing"]
"""Coverage of intervals: other seeds, other test examples, both, or no interval."""

Reason = Literal["one seed", "alike", "too few seeds", "unfinished", "unstable", "noise", "source is target", ""]
"""Reason why a result or an outcome is not decided; "alike" if all runs of all arms have one rounded score."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of all arms over seeds at one number of labels.

    Attributes:
        arms: Distinct names.
        values: Score of every arm and seed, in points, higher is better; NaN without a run. Shape (A, S).
        with_source: Which arms are transfer arms: their method reads the source's data or network. Shape (A,).
        clusters: Arms of one source share a number, every baseline has its own. Shape (A,).
        cost: Seconds of a run with its share of pretraining; NaN where unknown. Shape (A,).
        example_variance: Variance that the draw of the test examples adds to the difference of two arms' means, in
            squared points, see `example_variance`; NaN for pairs where it is unknown. Shape (A, A), or None.
        test_units: Number of test examples of `example_variance`, or of their groups.
        unfinished: Which arms' training curves were still rising at their end. Shape (A,).
        failed: Which runs failed. Shape (A, S).
        resolution: Score difference of one test example, or last digit of rounded scores, in points; 0 for continuous
            scores.
        bounds: Smallest and largest possible score, in points; intervals are clipped to them.
        scale: One point on the scale of the scores, used when runs alone do not determine their variance: a hundredth
            of a typical score; 1 for percent. Above 0.

    Raises:
        DataError: Shapes do not match, names repeat, or a number is out of range.
    """

    arms: tuple[str, ...]
    values: Float[np.ndarray, "arms seeds"]
    with_source: Bool[np.ndarray, " arms"]
    clusters: Int[np.ndarray, " arms"]
    cost: Float[np.ndarray, " arms"]
    example_variance: Float[np.ndarray, "arms arms"] | None
    unfinished: Bool[np.ndarray, " arms"]
    failed: Bool[np.ndarray, "arms seeds"]
    resolution: float = 0.0
    bounds: tuple[float, float] = (-np.inf, np.inf)
    scale: float = 1.0
    test_units: float = np.inf

    def __post_init__(self) -> None:
        k = len(self.arms)
        if len(set(self.arms)) != k:
            raise DataError(f"the names of {k} arms repeat; give each arm its own name")
        shapes = {name: getattr(self, name).shape for name in ("with_source", "clusters", "cost", "unfinished")}
        wrong = [f"{name} {shape}" for name, shape in shapes.items() if shape != (k,)]
        if self.values.ndim != 2 or len(self.values) != k or self.failed.shape != self.values.shape or wrong:
            given = ", ".join([f"values {self.values.shape}", f"failed {self.failed.shape}", *wrong])
            raise DataError(f"{k} arms have shapes {given}; expected (arms, seeds) and (arms,)")
        if np.isinf(self.values).any():
            raise DataError("some scores are infinite; give NaN for a run that is missing")
        if not (np.isnan(self.cost) | (self.cost >= 0)).all() or not 0 <= self.resolution < np.inf:
            raise DataError("costs or the resolution are negative; expected at least 0, or NaN for an unknown cost")
        if not self.bounds[0] < self.bounds[1]:
            raise DataError(f"bounds = {self.bounds}; expected the lowest and then the highest possible score")
        if not 0 < self.scale < np.inf:
            raise DataError(f"scale = {self.scale}; expected a number of points above 0")
        extra = self.example_variance
        if extra is not None and (extra.shape != (k, k) or not (np.isnan(extra) | (extra >= 0)).all()):
            raise DataError(f"example_variance has shape {extra.shape}; expected ({k}, {k}) and numbers of at least 0")


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference between two arms, or between an arm and the best baseline.

    Attributes:
        value: In points; above 0 where the first is better.
        low: Lower end of the CI, simultaneous over transfer arms and any number of seeds; None if the noise is unknown.
            The CI of an arm that is not tested is extended to include 0.
        high: Upper end of the CI.
        p: p-value adjusted for all arms and looks, below 1 - level exactly if the CI excludes 0; None if the arm is not
            tested.
    """

    value: float
    low: float | None
    high: float | None
    p: float | None


@dataclass(frozen=True, slots=True)
class Expected:
    """Expected effect of transfer with a 90 % interval; not a significance test.

    Attributes:
        helps: Probability that the best transfer arm gains more than the margin over the best baseline.
        same: Probability that the two differ by the margin at most. The three add up to 1.
        harms: Probability that it loses more than the margin.
        gain: Expected gain of the transfer arm with the highest mean, in points, shrunk against the winner's curse.
        low: Lower end of the 90 % interval of `gain`.
        high: Upper end of it.
    """

    helps: float
    same: float
    harms: float
    gain: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ArmFacts:
    """Facts of one arm.

    Attributes:
        mean: Mean over seeds, in points, adjusted for seeds that other arms lack; None without a run.
        adjusted: Whether `mean` differs from the plain mean of its runs.
        cost: Seconds of a run; None if unknown.
        chance: Probability of being within the margin of the best arm.
        shortfall: Expected loss from using this arm instead of the best, in points; None without a run.
        at_most: Upper 90 % bound of that loss, in points; None without a run.
        unstable: Whether it varies far more over seeds than the other arms.
        unfinished: Whether its training curve was still rising.
        gain: Over the best baseline; None for a baseline, or where no baseline has a run.
        call: What is significant of `gain`.
        why: Why it is not tested: "unstable", "unfinished" (a baseline that it beats could still rise), "too few seeds"
            or "source is target"; else "".
    """

    name: str
    with_source: bool
    n_seeds: int
    n_failed: int
    mean: float | None
    adjusted: bool
    cost: float | None
    chance: float
    shortfall: float | None
    at_most: float | None
    unstable: bool
    unfinished: bool
    gain: Difference | None
    call: Call
    why: Reason


@dataclass(frozen=True, slots=True)
class MoreSeeds:
    """Further seeds that would decide whether transfer helps.

    Attributes:
        arms: Names of the arms that need them.
        seeds: Number of further seeds of each of these arms.
        chance: Probability that it is decided then.
        of_examples: Share, after these seeds, of the variance of the gain of the best transfer arm that is due to the
            draw of the test examples; 0 if unknown.
    """

    arms: tuple[str, ...]
    seeds: int
    chance: float
    of_examples: float


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer of a study at one number of labels.

    Attributes:
        outcome: Whether a source helps, see `Outcome`.
        recommended: The cheapest arm that is not expected to lose more than half the margin, or one of `helping` that
            is not expected to lose half a margin more; None without a run.
        chance: Probability that it is within the margin of the best arm.
        decided: Whether `chance` is at least 95 % and the arm has two seeds.
        best_transfer_arm: The transfer arm with the highest mean, among the significantly better ones where there are
            any. None without a run.
        best_baseline: The baseline with the highest mean; None without a run.
        difference: The gain of `best_transfer_arm` over `best_baseline`; None where one of them is None.
        expected: The chances that transfer helps or harms, and the expected gain; None if a transfer arm or a baseline
            is missing, every arm has one run, or all runs are "alike".
        helping: Transfer arms that are significantly better than every baseline, best first.
        harmful: Transfer arms that are significantly worse than the best baseline, worst first.
        arms: All arms, in the order given.
        unstable: Names of arms whose variance over seeds is far above that of the others.
        unfinished: Names of arms whose training curves were still rising.
        missing: Names of arms with fewer seeds than the arm with the most.
        more_seeds: Further seeds that would decide whether transfer helps; None if it is decided or seeds would not
            help.
        covers: The population that the CIs cover.
        why: The reason for an "inconclusive" outcome, else "".
        margin: Differences up to this do not matter, in points.
        planned: Number of seeds fixed before the first run; None if not fixed.
        level: 1 - one-sided error over all looks at this number of labels: a false "better" has at most probability 1 -
            level, and so has a false "worse"; CIs cover 2 level - 1.
    """

    outcome: Outcome
    recommended: str | None
    chance: float
    decided: bool
    best_transfer_arm: str | None
    best_baseline: str | None
    difference: Difference | None
    expected: Expected | None
    helping: tuple[str, ...]
    harmful: tuple[str, ...]
    arms: tuple[ArmFacts, ...]
    unstable: tuple[str, ...]
    unfinished: tuple[str, ...]
    missing: tuple[str, ...]
    more_seeds: MoreSeeds | None
    covers: Covers
    why: Reason
    margin: float
    level: float
    planned: int | None

    @property
    def confidence(self) -> float:
        """Nominal coverage of the CIs of gains: 2 level - 1."""
        return 2 * self.level - 1

    @property
    def baseline_level(self) -> float | None:
        """The mean of the best baseline, in points; None without a run of one."""
        return next((arm.mean for arm in self.arms if arm.name == self.best_baseline), None)
