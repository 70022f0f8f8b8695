"""Error, power and coverage of `numerics/many_to_one.py` and `numerics/best_arm.py`, beside Holm on paired t-tests.

    python -m benchmarks.inference [SECTION ...] [--studies N]

Every section prints tables for docs/results/inference.md. Studies are simulated: K arms and one control, S seeds, in
units of the standard deviation of the control, or in points of accuracy where test examples are simulated
(`benchmarks/no_effect.py` says how). The rival is what the report did before: Holm's correction over paired t-tests,
with the draw of the test examples added (`benchmarks/holm_on_paired_tests.py`). The section
"recorded" trains real cells on the data sets in TRANSFERSCOPE_DATA instead, and takes what 12 seeds say as the truth.
"""

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from benchmarks.holm_on_paired_tests import behrens_fisher_p, chance_of_best, holm, sd_of_test_set
from benchmarks.no_effect import SPREADS, studies
from scipy import special, stats
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier

from transferscope.numerics.best_arm import best_arm
from transferscope.numerics.many_to_one import ManyToOne, many_to_one

ALPHA, N_DRAWS, BLOCKS = 0.05, 2000, 10
Noise = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


@dataclass(frozen=True)
class Setting:
    """How scores vary over seeds: standard deviations of the control and, in turn, of the arms; and of what kind."""

    control: float = 1.0
    arms: tuple[float, ...] = (1.0,)
    noise: Noise = lambda rng, shape: rng.standard_normal(shape)

    def sds(self, k: int) -> np.ndarray:
        return np.resize(self.arms, k)

    def differences(self, rng: np.random.Generator, n: int, j: int, k: int, s: int, alike: float = 0.0) -> np.ndarray:
        """Without any effect, shape (studies, J, K, S); `alike` is the correlation of a seed between sizes."""
        control, arms = self.control, self.sds(k)[:, None]

        def drawn(shape: tuple[int, ...]) -> np.ndarray:
            own = self.noise(rng, (n, j, *shape))
            shared = self.noise(rng, (n, 1, *shape)) if alike else 0.0
            return np.asarray(np.sqrt(1 - alike) * own + np.sqrt(alike) * shared)

        return np.asarray(arms * drawn((k, s)) - control * drawn((1, s)))


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Lognormal with scale .75 to the left, as when single runs fail; mean 0 and variance 1."""
    x = np.exp(0.75 * rng.standard_normal(shape))
    return np.asarray((np.exp(0.75**2 / 2) - x) / np.sqrt(np.expm1(0.75**2) * np.exp(0.75**2)))


def heavy(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Student's t with 3 degrees of freedom, variance 1."""
    return np.asarray(rng.standard_t(3, shape) / np.sqrt(3))


SETTINGS = {
    "equal": Setting(),
    "arms 1 : 9": Setting(arms=(1.0, 3.0)),
    "arms 1 : 16, four of 18": Setting(arms=(1.0,) * 7 + (4.0,) * 2),
    "arms 1 : 25, one of nine": Setting(arms=(1.0,) * 8 + (5.0,)),
    "control x 3": Setting(control=3.0),
    "control / 3": Setting(control=1 / 3),
    "skewed": Setting(noise=skewed),
    "heavy tails": Setting(noise=heavy),
}


def table(title: str, header: Sequence[str]) -> None:
    print(f"\n### {title}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}", flush=True)


def row(*cells: object) -> None:
    print("| " + " | ".join(f"{c:.3f}" if isinstance(c, float) else str(c) for c in cells) + " |", flush=True)


def compared(differences: np.ndarray, gains: np.ndarray | None = None, **settings: object) -> list[ManyToOne]:
    """Of differences (studies, J, K, S), or gains (studies, K, S, n) at one size; the draws change now and then."""
    n = len(differences)
    return [
        many_to_one(
            differences[i],
            np.zeros((differences.shape[1], differences.shape[3])),
            gains=None if gains is None else [gains[i].transpose(1, 0, 2)],
            n_draws=N_DRAWS,
            seed=i * BLOCKS // n,
            **settings,  # type: ignore[arg-type]
        )
        for i in range(n)
    ]


def paired_p(differences: np.ndarray) -> np.ndarray:
    """Holm-corrected p-values of paired t-tests, shape (studies, comparisons) from (studies, J, K, S)."""
    n, s = len(differences), differences.shape[-1]
    flat = differences.reshape(n, -1, s)
    stderr = stats.sem(flat, axis=2)
    p = 2 * stats.t.sf(np.abs(flat.mean(axis=2) / np.maximum(stderr, 1e-12)), s - 1)
    p[stderr < 1e-12] = np.nan  # "undefined"
    return np.array([holm(study) for study in p])


def p_of(found: Sequence[ManyToOne]) -> np.ndarray:
    """Shape (studies, comparisons); 1 where undefined."""
    return np.nan_to_num(np.array([one.p.ravel() for one in found]), nan=1.0)


ANGLES = np.linspace(0.0, np.pi / 2, 61)
"""Arcus sine of the root of the share of the variance that all arms share, at which the noise of the test is tabled."""


LENT = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
"""Degrees of freedom lent to every arm, between which p-values are interpolated."""


@lru_cache(maxsize=16)
def noise_table(k: int, df: float, own_df: float, n_draws: int = 5_000) -> tuple[np.ndarray, np.ndarray]:
    """Sorted draws of max_k |error_k| / se_k, shape (angles, draws), and the 95 % point of one of them, by share.

    Without test examples the noise of `many_to_one` depends on the data through the share alone, so that one table
    serves thousands of studies.
    """
    rng = np.random.default_rng([10, k])
    t = stats.t.ppf((rng.permutation(n_draws) + 0.5) / n_draws, df)[:, None]
    z = rng.standard_normal((n_draws, k))
    if k > 1:
        z = (z - z.mean(axis=1, keepdims=True)) * np.sqrt(k / (k - 1))
    own = z * np.sqrt(own_df / rng.chisquare(own_df, size=z.shape))
    drawn = (np.abs(np.sin(angle) * t + np.cos(angle) * own) for angle in ANGLES)
    largest, alone = zip(*((np.sort(e.max(axis=1)), np.quantile(e[:, 0], 0.95)) for e in drawn), strict=True)
    return np.array(largest), np.array(alone)


def all_at_once(differences: np.ndarray, h: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """Smallest adjusted p-value of every study and its intervals' half widths, from differences (studies, J, K, S).

    The formulas of `many_to_one` once more, over all studies together; the first three are held against it.
    """
    n, j, k, s = differences.shape
    shared = differences.mean(axis=2)
    common = shared.var(axis=2, ddof=1)  # (studies, J)
    own = (differences - shared[:, :, None]).var(axis=3, ddof=1).mean(axis=2)
    h = min(h, (j - 1) * (s - 1)) if k > 1 else 0.0
    if h:
        common = ((s - 1) * common + h * (common / own).mean(axis=1, keepdims=True) * own) / (s - 1 + h)
    residual = (differences - shared[:, :, None]).var(axis=3, ddof=1)
    logs = np.log(np.maximum(residual, 1e-3 * residual.mean(axis=2, keepdims=True)))
    excess = logs.var(axis=2, ddof=1).mean(axis=1) - special.polygamma(1, (s - 1) / 2) if k > 1 else np.zeros(n)
    halves = np.linspace(3.0, 0.5, 500)
    lent = 2 * np.interp(excess, special.polygamma(1, halves), halves)
    angle = np.arcsin(np.sqrt(common / (common + own)))
    position = angle / ANGLES[-1] * (len(ANGLES) - 1)
    low = np.minimum(position.astype(int), len(ANGLES) - 2)
    study, above = np.arange(n)[:, None], position - low
    of_seeds = (s - 1) * differences.var(axis=3, ddof=1)
    ps, halfs = [], []
    for w in LENT if k > 1 else (0.0,):
        stderr = np.sqrt((of_seeds + w * (common + own)[:, :, None]) / (s - 1 + w) / s)
        largest = (np.abs(differences.mean(axis=3)) / stderr).max(axis=(1, 2))
        tables, alone = noise_table(k, s - 1 + h, s - 1 + w)
        below = np.array([np.searchsorted(of_angle, largest) for of_angle in tables]) / tables.shape[1]
        ps.append(1 - ((1 - above) * below[low, study] + above * below[low + 1, study]).prod(axis=1))
        halfs.append(np.interp(angle, ANGLES, alone)[:, :, None] * stderr)
    if k == 1:
        return ps[0], halfs[0]
    at, each = np.clip(np.searchsorted(LENT, lent, side="right") - 1, 0, len(LENT) - 2), np.arange(n)
    over = (lent - np.array(LENT)[at]) / np.diff(LENT)[at]
    p = (1 - over) * np.array(ps)[at, each] + over * np.array(ps)[at + 1, each]
    weight = over[:, None, None]
    half = (1 - weight) * np.array(halfs)[at, each] + weight * np.array(halfs)[at + 1, each]
    for i in range(3):
        found = np.nanmin(many_to_one(differences[i], np.zeros((j, s)), df_between_sizes=h).p)
        assert abs(found - p[i]) < 0.04, (found, p[i])
    return p, half


def error(n_studies: int) -> None:
    """Any false call, without test examples."""
    table("Any false call, one size", ["spread", "arms", "S = 2", "3", "5", "10", "20", "Holm, worst of these"])
    found = {}
    for k in (1, 7, 16, 60):
        for s in (2, 3, 5, 10, 20):
            for name, setting in SETTINGS.items():
                differences = setting.differences(np.random.default_rng([11, k, s]), 5 * n_studies, 1, k, s)
                p = all_at_once(differences)[0], paired_p(differences[:n_studies]).min(axis=1)
                found[name, k, s] = [float((x < ALPHA).mean()) for x in p]
    for name in SETTINGS:
        for k in (1, 7, 16, 60):
            shares = [found[name, k, s] for s in (2, 3, 5, 10, 20)]
            row(name, k, *(now for now, _ in shares), max(rival for _, rival in shares))


def sizes(n_studies: int) -> None:
    """Any false call over four sizes of seven arms."""
    header = [f"S = {s}{', h = 0' if h == 0 else ''}" for h in (2, 0) for s in (3, 5, 10)]
    table("Any false call, four sizes of seven arms", ["spread", "seeds between sizes", *header])
    for name, setting in SETTINGS.items():
        for alike in (0.0, 0.8):
            found = []
            for h in (2.0, 0.0):
                for s in (3, 5, 10):
                    differences = setting.differences(np.random.default_rng([12, s]), 5 * n_studies, 4, 7, s, alike)
                    found.append(float((all_at_once(differences, h)[0] < ALPHA).mean()))
            row(name, "correlation .8" if alike else "independent", *found)


def power(n_studies: int) -> None:
    """Share of true differences found; a third of the arms differ from the control."""
    table("Power", ["spread", "effect", "arms", *(f"S = {s}, {who}" for s in (3, 5) for who in ("Holm", "now"))])
    n = max(n_studies // 2, BLOCKS)
    for name in ("equal", "arms 1 : 9", "control x 3"):
        setting = SETTINGS[name]
        for effect in (2.0, 4.0):
            for k in (7, 16, 30):
                sd = np.sqrt(setting.sds(k) ** 2 + setting.control**2)
                true = np.arange(k) % 3 == 0
                shares = []
                for s in (3, 5):
                    differences = setting.differences(np.random.default_rng([13, k, s]), n, 1, k, s)
                    differences += (effect * sd * true)[:, None]
                    both = paired_p(differences), p_of(compared(differences))
                    shares += [float((p[:, true] < ALPHA).mean()) for p in both]
                row(name, f"{effect:.0f} sd", k, *shares)


def gains_of(right: np.ndarray) -> np.ndarray:
    return np.asarray(right[:, 1:] - right[:, :1])


def rival_p(gains: np.ndarray) -> np.ndarray:
    """Holm-corrected p-values that speak of other test examples, as the report had them; (studies, K)."""
    of_seeds = gains.mean(axis=3, dtype=np.float64)
    test_sd = np.array([[sd_of_test_set(one.astype(np.float64)) for one in study] for study in gains])
    stderr = stats.sem(of_seeds, axis=2)
    p = behrens_fisher_p(of_seeds.mean(axis=2), np.maximum(stderr, 1e-12), gains.shape[2] - 1, test_sd)
    p[stderr < 1e-12] = np.nan
    return np.array([holm(study) for study in p])


def batches(
    rng: np.random.Generator, n_studies: int, accuracy: np.ndarray, s: int, n: int, spread: np.ndarray, own: float = 0.6
) -> np.ndarray:
    """Gains (studies, K, S, n), a few studies at a time."""
    size = max(1, 20_000_000 // (len(accuracy) * s * n))
    parts = []
    for start in range(0, n_studies, size):
        tiled = np.tile(accuracy, (min(size, n_studies - start), 1))
        parts.append(gains_of(studies(rng, tiled, s, n, spread, own)).astype(np.int8))
    return np.concatenate(parts)


def examples(n_studies: int) -> None:
    """One shared test set: false calls about new data, near the ends of the scale, and power."""
    n_studies = max(n_studies // 2, BLOCKS)
    header = [
        "accuracy",
        "spread",
        "examples",
        *(f"S = {s}, {who}" for s in (3, 5, 10) for who in ("plain", "Holm", "now")),
    ]
    table("Any false call about new test data, seven arms", header)
    rng = np.random.default_rng(14)
    cases = [(0.9, name, n) for name in SPREADS for n in (300, 1000)]
    cases += [(accuracy, "unequal", 300) for accuracy in (0.99, 0.995, 0.02)]
    for accuracy, name, n in cases:
        shares = []
        for s in (3, 5, 10):
            gains = batches(rng, n_studies, np.full(8, accuracy), s, n, SPREADS[name])
            of_seeds = gains.mean(axis=3)[:, None]
            ps = (paired_p(of_seeds), rival_p(gains), p_of(compared(of_seeds, gains)))
            shares += [float((p < ALPHA).any(axis=1).mean()) for p in ps]
        row(f"{100 * accuracy:.1f} %", name, f"{n:,}", *shares)
    table(
        "Power about new test data, one arm of seven 4 points better, unequal spread",
        ["examples", "seeds", "Holm", "now"],
    )
    for n, s in ((300, 3), (300, 5), (1000, 3), (1000, 5), (10_000, 3), (10_000, 5)):
        accuracy = np.full(8, 0.85)
        accuracy[4] = 0.89
        gains = batches(rng, min(n_studies, 200), accuracy, s, n, SPREADS["unequal"])
        ps = rival_p(gains), p_of(compared(gains.mean(axis=3)[:, None], gains))
        row(f"{n:,}", s, *(float((p[:, 3] < ALPHA).mean()) for p in ps))


def groups(n_studies: int) -> None:
    """Test examples that come in groups, and a regression: what each arm is good at is shared within a group."""
    n_studies = max(n_studies // 2, BLOCKS)
    table("Any false call, examples in groups (300 examples)", ["groups", "seeds", "groups not known", "groups known"])
    rng = np.random.default_rng(15)
    for n_groups in (10, 30, 100):
        of_example = np.sort(np.arange(300) % n_groups)
        for s in (3, 10):
            z = 1.2 * rng.standard_normal((n_studies, 1, 1, n_groups)) + 0.6 * rng.standard_normal(
                (n_studies, 8, 1, n_groups)
            )
            z = z[..., of_example] + rng.standard_normal((n_studies, 8, s, 300)) + 1.5
            gains = gains_of(np.asarray(z + 0.1 * rng.standard_normal((n_studies, 8, s, 1)) > 0, dtype=np.int8))
            of_seeds = gains.mean(axis=3)[:, None]
            known = [p_of(compared(of_seeds, gains, groups=which)) for which in (None, of_example)]
            row(n_groups, s, *(float((p < ALPHA).any(axis=1).mean()) for p in known))
    table(
        "Any false call, regression (squared errors of heavy-tailed examples)",
        ["examples", "seeds", "plain", "Holm", "now"],
    )
    for n in (300, 1000):
        for s in (3, 5, 10):
            scale = np.exp(0.5 * rng.standard_normal((n_studies, 1, 1, n), dtype=np.float32))
            error = rng.standard_normal((n_studies, 1, 1, n), dtype=np.float32) + 0.5 * rng.standard_normal(
                (n_studies, 8, 1, n), dtype=np.float32
            )
            error = error + 0.5 * rng.standard_normal((n_studies, 8, s, n), dtype=np.float32)
            error = scale * error * np.exp(0.03 * rng.standard_normal((n_studies, 8, s, 1), dtype=np.float32))
            gains = gains_of(-(error**2))
            of_seeds = gains.mean(axis=3, dtype=np.float64)[:, None]
            ps = (paired_p(of_seeds), rival_p(gains), p_of(compared(of_seeds, gains)))
            row(f"{n:,}", s, *(float((p < ALPHA).any(axis=1).mean()) for p in ps))


def whether(n_studies: int) -> None:
    """One useful source of six arms, alone and beside seven others; and the error when none is useful."""
    cases = {
        "alone": (1, 0.0),
        "beside 7 that change nothing": (8, 0.0),
        "beside 7 that hurt by as much": (8, -1.0),
    }
    ways = ["Holm", "now", "weights 1 / rank, ranked first", "ranked third", "ranked last"]
    table(
        "Whether transfer helps: found (one useful source, six arms, one of them better)",
        ["sources", "effect", "seeds", *ways],
    )
    n = max(n_studies // 3, BLOCKS)
    for effect in (0.0, 2.0, 3.0, 4.0):
        for s in (3, 5):
            for name, (sources, others) in cases.items():
                k = 6 * sources
                differences = Setting().differences(np.random.default_rng([16, s]), n, 1, k, s)
                differences[:, :, 6:] += others * effect * np.sqrt(2)
                differences[:, :, 0] += effect * np.sqrt(2)
                ahead = differences[:, 0].mean(axis=2) > 0
                rival = ((paired_p(differences) < ALPHA) & ahead).any(axis=1).mean()
                found = [float(rival)]
                for rank in (None, 1, 3, 8):
                    weights = None
                    if rank is not None:
                        ranks = np.array([rank, *(r for r in range(1, 9) if r != rank)])[:sources]
                        weights = 1 / np.repeat(ranks, 6)[None].astype(np.float64)
                    p = np.array([one.p_whether[0] for one in compared(differences, weights=weights)])
                    found.append(float((p < ALPHA).mean()))
                row(name, f"{effect:.0f} sd", s, *found)
    table(
        "With a second control (error: the best arm equals the better control, which is 3 sd above scratch)",
        ["seeds", "false", "found at 4 sd above it"],
    )
    for s in (3, 5):
        shares = []
        for effect in (0.0, 4.0):
            differences = Setting().differences(np.random.default_rng([17, s]), n, 1, 8, s)
            differences[:, :, 7] += 3 * np.sqrt(2)
            differences[:, :, 0] += (3 + effect) * np.sqrt(2)
            p = np.array([one.p_whether[0] for one in compared(differences, controls=(7,))])
            shares.append(float((p < ALPHA).mean()))
        row(s, *shares)


def coverage(n_studies: int) -> None:
    """Of the intervals over seeds, over test examples, and over both; and equivalence."""
    table("Coverage of 95 % intervals (true differences of 2 sd spread)", ["spread", "S = 2", "3", "5", "10", "20"])
    for name, setting in SETTINGS.items():
        shares = []
        for s in (2, 3, 5, 10, 20):
            rng = np.random.default_rng([18, s])
            true = 2 * rng.standard_normal((5 * n_studies, 7))
            differences = setting.differences(rng, 5 * n_studies, 1, 7, s) + true[:, None, :, None]
            half = all_at_once(differences)[1][:, 0]
            shares.append(float((np.abs(differences[:, 0].mean(axis=2) - true) <= half).mean()))
        row(name, *shares)
    table("Coverage for new seeds and test data (accuracies about .9)", ["examples", "S = 3", "5", "10"])
    rng = np.random.default_rng(19)
    for n in (300, 1000):
        shares = []
        for s in (3, 5, 10):
            hits, total = 0, 0
            for _ in range(20):
                accuracy = np.clip(0.9 + 0.02 * rng.standard_normal(8), 0.5, 0.99)
                gains = batches(rng, n_studies // 20, accuracy, s, n, SPREADS["unequal"])
                true = accuracy[1:] - accuracy[0]
                for one in compared(gains.mean(axis=3)[:, None], gains):
                    hits += int(((one.low[0] <= true) & (true <= one.high[0])).sum())
                    total += 7
            shares.append(hits / total)
        row(f"{n:,}", *shares)
    table(
        "Equivalence within one point (seeds of sd .5 points, accuracies about .9)",
        ["examples", "seeds", "found where equal", "false where the difference is one point"],
    )
    for n in (1000, 5000, 20_000):
        for s in (3, 5, 10):
            shares = []
            for shift in (0.0, 0.01):
                accuracy = np.full(4, 0.9)
                accuracy[1:] += shift
                gains = batches(rng, max(n_studies // 3, 1), accuracy, s, n, np.full(4, 0.03), own=0.3)
                found = compared(gains.mean(axis=3)[:, None], gains, margin=0.01)
                shares.append(float(np.mean([one.within_margin.mean() for one in found])))
            row(f"{n:,}", s, *shares)


def best(n_studies: int) -> None:
    """Chance of being best: claimed and true; and how often the set that should hold the best arm does."""
    table(
        "Chance of being best (eight arms, 1,000 test examples)",
        [
            "true accuracies",
            "seeds",
            "chance_of_best: claimed",
            "true",
            "now: claimed",
            "true",
            "claims of .8: now",
            "true",
            "best in the set",
            "size of the set",
        ],
    )
    rng = np.random.default_rng(20)
    n = max(n_studies // 5, 1)
    for spread in (0.003, 0.005, 0.02, -0.005):
        for s in (3, 5, 10):
            claimed, true, above, kept, size = np.zeros(2), np.zeros(2), [], 0, 0
            for _ in range(n):
                accuracy = np.clip(0.9 + abs(spread) * rng.normal(size=(1, 8)), 0.01, 0.995)
                if spread < 0:
                    accuracy[0, 5:] -= 0.2  # three arms that fail
                right = studies(rng, accuracy, s, 1000, SPREADS["unequal"])[0].astype(np.float64)
                gains = right[1:] - right[0]
                found = best_arm(gains.mean(axis=2), gains=gains.transpose(1, 0, 2), n_draws=1000)
                top = int(accuracy[0].argmax())
                for i, p in enumerate((chance_of_best(right, seed=0, n_draws=500), found.chance)):
                    claimed[i] += p.max() / n
                    true[i] += (p.argmax() == top) / n
                if found.chance.max() >= 0.8:
                    above.append(int(found.chance.argmax()) == top)
                kept += int(found.p[top] >= ALPHA)
                size += int((found.p >= ALPHA).sum())
            name = f"sd {100 * abs(spread):.1f} points" + (", three arms 20 below" if spread < 0 else "")
            cells = [x for pair in zip(claimed, true, strict=True) for x in pair]
            row(
                name,
                s,
                *map(float, cells),
                len(above),
                f"{np.mean(above):.2f}" if above else "",
                kept / n,
                f"{size / n:.1f}",
            )


def missing(n_studies: int) -> None:
    """Runs that are missing: at random, and two of six seeds for half of the arms."""
    table(
        "Any false call with missing runs (16 arms)",
        ["spread", "S", "one in five missing", "half of the arms lack two seeds", "coverage"],
    )
    for name, setting in SETTINGS.items():
        for s in (3, 5):
            rng = np.random.default_rng([21, s])
            shares, covered = [], []
            for pattern in ("random", "half"):
                differences = setting.differences(rng, n_studies, 1, 16, s)
                if pattern == "random":
                    differences[rng.random(differences.shape) < 0.2] = np.nan
                else:
                    differences[:, :, ::2, : 1 if s == 3 else 2] = np.nan
                found = compared(differences)
                shares.append(float((p_of(found) < ALPHA).any(axis=1).mean()))
                inside = [(one.low <= 0) & (one.high >= 0) for one in found]
                covered.append(np.sum(inside) / np.sum([~np.isnan(one.low) for one in found]))
            row(name, s, *shares, float(min(covered)))


def real_cells(n_seeds: int) -> tuple[np.ndarray, list[str]]:
    """Gains of 18 arms over a network from scratch on MNIST, shape (sizes, seeds, arms, examples), and the arms' names.

    A hidden layer of 64 units is trained on 1,500 images of a source, for every seed anew; the arms are a ridge
    classifier, a logistic regression and 3 neighbours on its activations, and the network trained on. Two controls see
    the pixels. The sources are Fashion-MNIST, MNIST upside down, random labels and noise; 50 or 200 labels.
    """
    folder = Path(os.environ["TRANSFERSCOPE_DATA"])
    mnist, fashion = (np.load(folder / f"{name}.npz") for name in ("mnist", "fashion_mnist"))
    inputs, labels = mnist["x_train"].reshape(-1, 784) / 255.0, mnist["y_train"]
    test, test_labels = mnist["x_test"][:2000].reshape(-1, 784) / 255.0, mnist["y_test"][:2000]
    clothes = fashion["x_train"].reshape(-1, 784) / 255.0
    sources = ("fashion", "upside down", "random labels", "noise")
    arms = [f"{way} from {source}" for source in sources for way in ("ridge", "logistic", "neighbours", "fine-tune")]
    arms += ["ridge on pixels", "neighbours on pixels"]
    right = np.zeros((2, n_seeds, len(arms) + 1, len(test)), dtype=np.int8)
    for s in range(n_seeds):
        rng = np.random.default_rng([23, s])
        own = rng.permutation(len(inputs))
        pretraining, shown = own[:1500], [own[1500 : 1500 + n] for n in (50, 200)]
        pretrained = [
            trained(clothes[pretraining], fashion["y_train"][pretraining], s, 5),
            trained(inputs[pretraining][:, ::-1], labels[pretraining], s, 5),
            trained(inputs[pretraining], rng.integers(10, size=1500), s, 5),
            trained(rng.random((1500, 784)), rng.integers(10, size=1500), s, 5),
        ]
        for j, chosen in enumerate(shown):
            x, y = inputs[chosen], labels[chosen]
            guesses = [trained(x, y, s, 40).predict(test)]
            for network in pretrained:
                features, of_test = (np.maximum(z @ network.coefs_[0] + network.intercepts_[0], 0) for z in (x, test))
                models = RidgeClassifier(), LogisticRegression(max_iter=1000), KNeighborsClassifier(3)
                guesses += [model.fit(features, y).predict(of_test) for model in models]
                guesses.append(trained(x, y, s, 40, start=network).predict(test))
            guesses += [model.fit(x, y).predict(test) for model in (RidgeClassifier(), KNeighborsClassifier(3))]
            right[j, s] = [guess == test_labels for guess in guesses]
    return right[:, :, 1:] - right[:, :, :1], arms


def trained(x: np.ndarray, y: np.ndarray, seed: int, epochs: int, start: MLPClassifier | None = None) -> MLPClassifier:
    network = MLPClassifier((64,), random_state=seed, batch_size=50, learning_rate_init=0.003)
    network.partial_fit(x[:50], y[:50], classes=np.arange(10))
    if start is not None:
        network.coefs_ = [start.coefs_[0].copy(), network.coefs_[1]]
        network.intercepts_ = [start.intercepts_[0].copy(), network.intercepts_[1]]
        network._optimizer.params = network.coefs_ + network.intercepts_
    for _ in range(epochs):
        network.partial_fit(x, y)
    return network


def recorded(n_studies: int) -> None:
    """Few seeds of real cells beside all of their seeds, and their noise with the effects taken out."""
    n_all = 12
    gains, arms = real_cells(n_all)
    differences = gains.mean(axis=3).transpose(0, 2, 1)  # (J, K, S)
    for j, n in enumerate((50, 200)):
        print(
            f"{n} labels, mean gain in points: "
            + ", ".join(f"{arm} {100 * d:+.1f}" for arm, d in zip(arms, differences[j].mean(axis=1), strict=True))
        )
    truth = paired_p(differences[None])[0] < ALPHA
    sign = np.sign(differences.mean(axis=2)).ravel()
    table(
        f"Real cells: {truth.sum()} of {truth.size} differences known from {n_all} seeds",
        ["seeds", "who", "found", "wrong sign", "leaning besides", "sign of the leaning is right"],
    )
    rng = np.random.default_rng(22)
    repeats = max(n_studies // 5, 10)
    for s in (3, 5, 10):
        counts = {who: np.zeros(4) for who in ("Holm on paired t", "now, this test set", "now, other test data")}
        for _ in range(repeats):
            subset = rng.permutation(n_all)[:s]
            few = differences[:, :, subset]
            control = np.zeros((len(few), s))
            signs = np.sign(few.mean(axis=2)).ravel()
            calls = {
                "Holm on paired t": (paired_p(few[None])[0] < ALPHA, np.zeros(len(sign), dtype=bool)),
                "now, this test set": decided(many_to_one(few, control)),
                "now, other test data": decided(many_to_one(few, control, gains=list(gains[:, subset]))),
            }
            for who, (sure, leaning) in calls.items():
                right = signs == sign
                counts[who] += [
                    (sure & right)[truth].mean(),
                    (sure & ~right).sum(),
                    leaning.sum(),
                    (leaning & right).sum(),
                ]
        for who, (found, wrong, leaning, agree) in counts.items():
            row(
                s,
                who,
                found / repeats,
                wrong / (repeats * truth.size),
                f"{leaning / repeats:.1f}",
                f"{agree / leaning:.2f}" if leaning else "",
            )
    table(
        "Any false call on recorded noise (effects taken out, seeds drawn with replacement or without)",
        ["seeds", "Holm, without", "now, without", "p <= .01", "Holm, with", "now, with", "p <= .01"],
    )
    centred = differences - differences.mean(axis=2, keepdims=True)
    for s in (3, 5, 10):
        shares = []
        for replace in (False, True):
            few = np.array([centred[:, :, rng.choice(n_all, s, replace=replace)] for _ in range(n_studies)])
            few = few[few.std(axis=3).min(axis=(1, 2)) > 1e-9]  # a seed drawn s times has no spread
            found = p_of(compared(few))
            shares += [float((p < ALPHA).any(axis=1).mean()) for p in (paired_p(few), found)]
            shares.append(float((found <= 0.01).any(axis=1).mean()))  # what `analyses.compare` takes at three seeds
        row(s, *shares)


def decided(found: ManyToOne) -> tuple[np.ndarray, np.ndarray]:
    finding = found.finding.ravel()
    return np.isin(finding, ("better", "worse")), np.isin(finding, ("leaning better", "leaning worse"))


SECTIONS = {f.__name__: f for f in (error, sizes, power, examples, groups, whether, coverage, best, missing, recorded)}


def main() -> None:
    """Run the sections named on the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--studies", type=int, default=1000)
    given = parser.parse_args()
    for name in given.sections or SECTIONS:
        SECTIONS[name](given.studies)


if __name__ == "__main__":
    main()
