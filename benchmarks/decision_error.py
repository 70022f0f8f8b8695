"""How often a decision errs, what it finds, and whether its chances come true: simulated and recorded studies.

    python -m benchmarks.decision_error SECTION [--studies N]

SECTION is error, sides, labels, power, examples, chance, gain, tie, decides, race or recorded; each prints a table of
docs/results/decision.md.

A simulated study has arms with and without a source, and the score of arm a with seed s is

    mean_a + 1.5 b_s + sd_a (sqrt(r) c_{k(a) s} + sqrt(1 - r) e_as)

b is common to all arms, c to the arms of one source (r = 0, .5 or .9) and e the arm's own: normal; Student's t with 3
degrees of freedom; skewed (minus an exponential, skewness -2) or more so (minus a lognormal, -3.7); all of variance 1;
or normal with one run in twenty 15 sd lower. sd_a is 1 for all, log-uniform over a factor of 10, 1 or 3 for every
second arm, or 10 for the last arm with a source. Studies are read at every number of seeds as these are added.
"""

import argparse
import csv
import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from transferscope.decision import Decision, Scores, decide, example_variance, next_runs
from transferscope.decision.noise import Noise, noise
from transferscope.decision.whether import can_be_called, gains, looks, pairs
from transferscope.decision.which import draw_means, select

RUNS = Path(__file__).parents[1] / "docs" / "results" / "runs"
WITHOUT_SOURCE = ("merlin-target-only", "random-features", "raw", "scratch")
LEVEL = 0.05
SEEDS = 12
SHAPES = ("normal", "t3", "skewed", "failing", "very skewed")
SCALES = ("equal", "log-uniform", "1 : 3", "one x 10")
SHARED = (0.0, 0.5, 0.9)


@dataclass(frozen=True)
class Design:
    """How many arms of which kind: `ways` of every source, and some without."""

    sources: int
    ways: int
    controls: int

    @property
    def clusters(self) -> np.ndarray:
        """Of all arms, those with a source first."""
        of_ways = np.repeat(np.arange(self.sources), self.ways)
        return np.concatenate([of_ways, self.sources + np.arange(self.controls)])

    @property
    def n_ways(self) -> int:
        """Arms with a source."""
        return self.sources * self.ways

    def __str__(self) -> str:
        return f"{self.sources} x {self.ways} against {self.controls}"


DESIGNS = tuple(
    Design(*numbers)
    for numbers in ((1, 1, 1), (1, 1, 2), (2, 1, 1), (1, 3, 1), (1, 6, 3), (3, 2, 2), (8, 2, 3), (4, 3, 6), (6, 5, 3))
)


def errors(
    rng: np.random.Generator, n: int, design: Design, shape: str, scale: str, shared: float, seeds: int = SEEDS
) -> tuple[np.ndarray, np.ndarray]:
    """Noise of shape (studies, arms, seeds), and the standard deviations (studies, arms)."""
    k = design.n_ways + design.controls
    own = _shaped(rng, (n, k, seeds), shape)
    common = _shaped(rng, (n, design.clusters.max() + 1, seeds), shape)[:, design.clusters]
    share = np.where(np.arange(k) < design.n_ways, shared, 0.0)[:, None]
    sd = np.ones((n, k))
    if scale == "log-uniform":
        sd = np.exp(rng.uniform(-np.log(10) / 2, np.log(10) / 2, (n, k)))
    elif scale == "1 : 3":
        sd[:, ::2] = 3.0
    elif scale == "one x 10":
        sd[:, design.n_ways - 1] = 10.0
    values = sd[..., None] * (np.sqrt(share) * common + np.sqrt(1 - share) * own)
    if shape == "failing":
        values -= 15 * sd[..., None] * (rng.random(values.shape) < 0.05)
    return values + 1.5 * rng.standard_normal((n, 1, seeds)), sd


def _shaped(rng: np.random.Generator, size: tuple[int, ...], shape: str) -> np.ndarray:
    if shape == "t3":
        return np.asarray(rng.standard_t(3.0, size) / np.sqrt(3.0))
    if shape == "skewed":
        return 1.0 - rng.standard_exponential(size)
    z = rng.standard_normal(size)
    if shape == "very skewed":
        s = 0.8
        return np.asarray((np.exp(s**2 / 2) - np.exp(s * z)) / np.sqrt(np.exp(s**2) * (np.exp(s**2) - 1)))
    return z


def truths(design: Design, sd: np.ndarray, kind: str) -> np.ndarray:
    """True means without an effect: all equal; or one or two arms without a source as good, the others 4 sd below."""
    mean = np.zeros_like(sd)
    if kind != "equal":
        tied = {"one ties": 1, "two tie": 2}[kind]
        mean[:, design.n_ways + tied :] = -4.0 * np.maximum(sd[:, design.n_ways + tied :], 1.0)
    return mean


def p_values(found: Noise, n_ways: int, extra: np.ndarray | None = None, units: float = np.inf) -> np.ndarray:
    """Of arms with a source, which come first, adjusted for their number and looks; 1 if not callable."""
    ways, controls = np.arange(n_ways), np.arange(n_ways, found.mean.shape[-1])
    beside = pairs(found, ways, controls, extra, units)
    p = (beside.below(0.0) * looks(found.n[..., ways, None], shared=beside.of_examples)).max(-1) * n_ways
    return np.where(can_be_called(found, ways, controls), np.minimum(p, 1.0), 1.0)


def cells(designs: tuple[Design, ...]) -> Iterator[tuple[Design, str, str, float, str]]:
    """Designs, noise and truths; those that repeat others are left out."""
    for design in designs:
        for shape in SHAPES:
            for scale in SCALES:
                for shared in SHARED if design.ways > 1 else SHARED[:1]:
                    for kind in ("equal", "one ties", "two tie")[: min(design.controls, 3)]:
                        yield design, shape, scale, shared, kind


def error(rng: np.random.Generator, n: int) -> None:
    """Print the share of studies without an effect in which any arm is called better.

    Cells above .05 are measured again with ten times the studies, so that the worst is not the luckiest.
    """
    found = defaultdict(list)
    for cell in cells(DESIGNS):
        design, shape, scale, shared, kind = cell
        shares = false_calls(rng, n, cell)
        if shares[0] > 0.05:
            shares = false_calls(rng, 10 * n, cell)
        groups = [f"arms: {design}", f"noise: {shape}", f"spread: {scale}", f"shared: {shared}", f"means: {kind}"]
        exception = shape.endswith("skewed") and scale == "one x 10"
        for group in [f"{shape}, one x 10"] if exception else ["all others", *groups]:
            found[group].append(shares)
    print("| | cells | any look at 3 to 12 seeds: mean, worst | S = 3: mean, worst | 4 | 5 | 10 |")
    print("|---" * 7 + "|")
    for group, rows in found.items():
        both = [f"{mean:.3f}, {worst:.3f}" for mean, worst in zip(np.mean(rows, 0), np.max(rows, 0), strict=True)]
        print(f"| {group} | {len(rows)} | {' | '.join(both)} |")
    worst = [false_calls(rng, 5 * n, (design, "normal", "equal", 0.0, "one ties"), 0.3)[0] for design in DESIGNS[1:]]
    print(f"30 % of runs missing at random, normal and equal noise, one ties, any look: {max(worst):.3f} at most")
    print("false no, the best arm exactly a margin ahead of all without, any look: ", end="")
    print(", ".join(f"{design} {false_no(rng, 20 * n, design):.3f}" for design in DESIGNS))


def false_no(rng: np.random.Generator, n: int, design: Design) -> float:
    """Share of studies in which any look says that nothing gains more than the margin, where one arm gains as much."""
    values = 0.5 * errors(rng, n, design, "normal", "equal", 0.0)[0]
    values[:, 0] += 1.0
    ways, controls = np.arange(design.n_ways), np.arange(design.n_ways, values.shape[1])
    false = np.zeros(n, dtype=bool)
    for s in range(3, SEEDS + 1):
        beside = pairs(noise(values[..., :s], design.clusters), ways, controls, None)
        false |= beside.above(1.0).max(-2).min(-1) < LEVEL / looks(np.array(s)) / design.controls
    return float(false.mean())


def false_calls(
    rng: np.random.Generator, n: int, cell: tuple[Design, str, str, float, str], missing: float = 0.0
) -> np.ndarray:
    """Share of studies with a false call at any look at 3 to 12 seeds, and at the looks at 3, 4, 5 and 10."""
    design, shape, scale, shared, kind = cell
    values, sd = errors(rng, n, design, shape, scale, shared)
    values += truths(design, sd, kind)[..., None]
    values[..., 2:][rng.random(values[..., 2:].shape) < missing] = np.nan
    called = calls(values, design)
    return np.array([called.any(1).mean(), *called.mean(0)[[0, 1, 2, 7]]])


def calls(values: np.ndarray, design: Design) -> np.ndarray:
    """Whether any arm is called better at the looks at 3 to 12 seeds, shape (studies, looks)."""
    read = (noise(values[..., :s], design.clusters) for s in range(3, SEEDS + 1))
    return np.stack([p_values(found, design.n_ways).min(1) < LEVEL for found in read], axis=1)


def labels(rng: np.random.Generator, n: int) -> None:
    """Print how often any of several numbers of labels has a false call; each is decided alone.

    The noise at one number of labels has the correlation "shared" with that at another.
    """
    print("| arms | shared | read | 1 number of labels | 2 | 3 | 4 |\n" + "|---" * 7 + "|")
    for design, shared in itertools.product(DESIGNS[:1] + DESIGNS[4:6], (0.0, 0.5)):
        common = errors(rng, n, design, "normal", "equal", 0.0)[0]
        called = np.zeros((n, SEEDS - 2), dtype=bool)
        shares = []
        for _ in range(4):
            own, sd = errors(rng, n, design, "normal", "equal", 0.0)
            values = np.sqrt(shared) * common + np.sqrt(1 - shared) * own
            values += truths(design, sd, "one ties" if design.controls > 1 else "equal")[..., None]
            called |= calls(values, design)
            shares.append([called.any(1).mean(), called[:, 2].mean()])
        for name, row in zip(("any look", "5 seeds, once"), np.transpose(shares), strict=True):
            print(f"| {design} | {shared:g} | {name} | {' | '.join(f'{share:.3f}' for share in row)} |")


def power(rng: np.random.Generator, n: int) -> None:
    """Print how often one arm that is 2 or 4 sd above the best without a source is called better."""
    print("| arms | noise | effect | S = 3 | 4 | 5 | 10 |\n|---|---|---|---|---|---|---|")
    for numbers in ((1, 1, 1), (1, 6, 3), (8, 2, 3)):
        design = Design(*numbers)
        for name, values in noises(rng, n, design).items():
            for effect in (2.0, 4.0):
                read = values.copy()
                read[:, 0] += effect
                found = [noise(read[..., :s], design.clusters) for s in (3, 4, 5, 10)]
                calls = [(p_values(one, design.n_ways)[:, 0] < LEVEL).mean() for one in found]
                print(f"| {design} | {name} | {effect:g} sd | {' | '.join(f'{call:.2f}' for call in calls)} |")


PLANS: tuple[int | None, ...] = (None, 3, 5, 10)


def sides(rng: np.random.Generator, n: int) -> None:
    """Print false calls on either side at any look at 3 to 12 seeds, and power, without a plan and with one."""
    print("| arms | noise | planned seeds | false better | false worse | either |\n" + "|---" * 6 + "|")
    for design, scale in itertools.product((DESIGNS[0], DESIGNS[1], DESIGNS[3], DESIGNS[4]), ("equal", "one x 10")):
        values, sd = errors(rng, n, design, "normal", scale, 0.0)
        values += truths(design, sd, "equal" if design.controls == 1 else "one ties")[..., None]
        looked = [noise(values[..., :s], design.clusters) for s in range(3, SEEDS + 1)]
        for planned in PLANS:
            better, worse = np.zeros((2, n), dtype=bool)
            for s, found in zip(range(3, SEEDS + 1), looked, strict=True):
                up, down = _calls(found, design.n_ways, None if planned is None else s == planned)
                better |= up.any(1)
                worse |= down.any(1)
            shares = " | ".join(f"{one.mean():.3f}" for one in (better, worse, better | worse))
            print(f"| {design} | {scale} | {planned or 'none'} | {shares} |", flush=True)
    print("\n| arms | effect | S = 3: none, planned | 5 | 10 | worse, S = 3 | 5 | 10 |\n" + "|---" * 8 + "|")
    for numbers in ((1, 1, 1), (3, 1, 1), (1, 1, 3), (6, 1, 3)):
        design = Design(*numbers)
        values = errors(rng, n, design, "normal", "equal", 0.0)[0]
        for effect in (2.0, 4.0):
            cells = []
            for side, sign in enumerate((1.0, -1.0)):
                read = values.copy()
                read[:, 0] += sign * effect
                for s in (3, 5, 10):
                    found = noise(read[..., :s], design.clusters)
                    power = [_calls(found, design.n_ways, at)[side][:, 0].mean() for at in (None, True)]
                    cells.append(f"{power[0]:.2f}, {power[1]:.2f}")
            print(f"| {design} | {effect:g} sd | {' | '.join(cells)} |", flush=True)


def _calls(found: Noise, n_ways: int, planned: bool | None) -> tuple[np.ndarray, np.ndarray]:
    """Return which arms are called better, and which worse, shape (studies, ways) each."""
    known = gains(found, np.arange(n_ways), np.arange(n_ways, found.mean.shape[-1]), planned=planned)
    return known.callable & (known.low > 0), known.callable & (known.high < 0)


def gain(rng: np.random.Generator, n: int) -> None:
    """Print whether the chances that transfer helps come true, and how good the expected gain and losses are."""
    rows = []
    for s, k, tau in itertools.product((3, 5), (2, 4, 8, 12), (0.5, 1.0, 3.0)):
        for _ in range(n):
            n_ways = max(1, k // 2)
            mean = tau * rng.standard_normal(k) + rng.choice([0.0, 0.0, 2.0, -2.0]) * (np.arange(k) < n_ways)
            sds = rng.choice([0.7, 1.5]) * np.exp(rng.uniform(-0.6, 0.6, k))
            shape = rng.choice(["normal", "t3", "skewed"])
            values = mean[:, None] + sds[:, None] * _shaped(rng, (k, s), shape) + 1.5 * rng.standard_normal((1, s))
            cost = 10 ** rng.uniform(0, 2, k)
            made = values[:, None, :]
            one = study(mean, made[:, 0], n_ways, np.arange(k), cost)
            said = decide(one.read(np.ones(values.shape, dtype=bool)))
            assert said.expected is not None
            assert said.difference is not None
            names, truth = [arm.name for arm in said.arms], mean[:n_ways].max() - mean[n_ways:].max()
            own = mean[names.index(str(said.best_transfer_arm))] - mean[n_ways:].max()
            for name, which in ((said.recommended, 0), (names[int(cost.argmin())], 1)):
                at = names.index(str(name))
                lost, arm = mean.max() - mean[at], said.arms[at]
                e = said.expected
                rows.append([s, which, e.helps, truth > 1, own, e.gain, e.low, e.high, said.difference.value,
                             lost, arm.shortfall, arm.at_most, e.harms, truth < -1, arm.chance])  # fmt: skip
    table = np.array(rows, dtype=float)
    print("| seeds | chance | below .1 | .1 | .3 | .5 | .7 | .9 |\n" + "|---" * 8 + "|")
    edges = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.001)
    first = table[table[:, 1] == 0]
    for s, (name, said_at, came_at) in itertools.product((3, 5), (("helps", 2, 3), ("harms", 12, 13))):
        of = first[first[:, 0] == s]
        parts = [(of[:, said_at] >= low) & (of[:, said_at] < high) for low, high in itertools.pairwise(edges)]
        cells = [
            f"{of[p, said_at].mean():.2f} → {of[p, came_at].mean():.2f} of {p.sum()}" if p.sum() else "" for p in parts
        ]
        print(f"| {s} | {name} | {' | '.join(cells)} |")
    print("\n| seeds | below .5 | .5 | .6 | .7 | .8 | .9 | .95 | .99 |\n" + "|---" * 9 + "|")
    for s in (3, 5):
        of = first[first[:, 0] == s]
        print(f"| {s} | {calibration(of[:, 14], of[:, 9] <= 1.0)} |")
    for s in (3, 5):
        of = first[first[:, 0] == s]
        inside = (of[:, 6] <= of[:, 4]) & (of[:, 4] <= of[:, 7])
        off, plain = of[:, 5] - of[:, 4], of[:, 8] - of[:, 4]
        print(f"{s} seeds: 90 % ends of the gain cover {inside.mean():.3f}, width {(of[:, 7] - of[:, 6]).mean():.2f}; "
              f"bias {off.mean():+.2f}, rmse {np.sqrt((off**2).mean()):.2f} (difference of means: {plain.mean():+.2f}, "
              f"{np.sqrt((plain**2).mean()):.2f})")  # fmt: skip
        for which, name in ((0, "recommended"), (1, "cheapest")):
            one = table[(table[:, 0] == s) & (table[:, 1] == which)]
            print(f"  {name}: expected loss {one[:, 10].mean():.2f}, came {one[:, 9].mean():.2f}; "
                  f"its 90 % end covers {(one[:, 9] <= one[:, 11] + 1e-9).mean():.3f}")  # fmt: skip


def tie(rng: np.random.Generator, n: int) -> None:
    """Print how often a tie is said at any look at 3 to 12 seeds, by the test and by the chance of no difference.

    The best arms of the two kinds are 1.01 margins apart, on either side, or alike; others of their kind are as good or
    1 or 3 points worse.
    """
    levels = (0.95, 0.99, 0.999)
    print(f"| arms | sd | gain | tie | {' | '.join(f'chance of {level:g}' for level in levels)} |\n" + "|---" * 7 + "|")
    for numbers, sd, gain in itertools.product(
        ((1, 1, 1), (1, 1, 3), (3, 1, 1), (1, 6, 3)), (0.5, 1), (1.01, -1.01, 0)
    ):
        design = Design(*numbers)
        ways, said = np.arange(design.n_ways), np.zeros((n, 1 + len(levels)), dtype=bool)
        for row, drawn in zip(said, sd * errors(rng, n, design, "normal", "equal", 0.0)[0], strict=True):
            mean = -rng.choice([0.0, 1.0, 3.0], len(drawn))
            mean[[0, design.n_ways]] = 0.0
            mean[ways] += gain
            made = study(mean, mean[:, None] + drawn, design.n_ways, design.clusters, np.ones(len(mean)))
            for s in (3, 4, 5, 7, 9, 12):
                scores = made.read(np.broadcast_to(np.arange(drawn.shape[1]) < s, drawn.shape))
                decision = decide(scores)
                same = 0.0 if decision.expected is None else decision.expected.same
                row |= [decision.outcome == "tie", *(decision.why == "noise" and same >= level for level in levels)]
        print(f"| {design} | {sd:g} | {gain:+g} | {' | '.join(f'{share:.3f}' for share in said.mean(0))} |", flush=True)


def noises(rng: np.random.Generator, n: int, design: Design) -> dict[str, np.ndarray]:
    """Quiet noise; the last arm with a source ten times as noisy; one of its runs collapsed; a noisy control."""
    quiet = errors(rng, n, design, "normal", "equal", 0.0)[0]
    noisy, collapsed, control = quiet.copy(), quiet.copy(), quiet.copy()
    last = design.n_ways - 1
    noisy[:, last] += 10 * rng.standard_normal(noisy[:, last].shape)
    collapsed[:, last, 1] -= 30
    control[:, -1] += 3 * rng.standard_normal(control[:, -1].shape)
    if not last:
        return {"quiet": quiet}
    return {"quiet": quiet, "one x 10": noisy, "one collapsed run": collapsed, "a control x 3": control}


def examples(rng: np.random.Generator, n: int) -> None:
    """Print calls of arms that differ on the test set that all seeds share, at any look at 3 to 10 seeds.

    Whether an arm is right on an example is the sign of 1.28 sd + 1.2 difficulty + .6 (what the arm is good at, which
    the examples of a group share) + .1 by arm and seed + .7 by run and example, all normal: accuracy .9. The better arm
    has .93 (1.48 sd).
    """
    print("| arms | test examples | in groups | false, not reckoned with | reckoned with | 3 points found |")
    print("|---" * 6 + "|")
    sd = np.sqrt(1.2**2 + 0.6**2 + 0.1**2 + 0.7**2)
    sizes = ((160, 160), (400, 400), (360, 360), (900, 900), (360, 12))
    for design, (size, n_groups) in itertools.product((Design(1, 1, 1), Design(1, 6, 1)), sizes):
        arms, ways = design.n_ways + 1, design.n_ways
        groups, called = np.arange(size) % n_groups, np.zeros(3)
        for _ in range(n):
            z = 1.2816 * sd + 1.2 * rng.standard_normal((1, 1, size))
            z = z + 0.6 * rng.standard_normal((arms, 1, n_groups))[:, :, groups]
            z = z + 0.1 * rng.standard_normal((arms, 10, 1)) + 0.7 * rng.standard_normal((arms, 10, size))
            same = 100.0 * (z > 0)
            z[0] += (1.4758 - 1.2816) * sd
            looks_at = [(right[:, :s], right is same) for right in (same, 100.0 * (z > 0)) for s in range(3, 11)]
            now = np.zeros(3, dtype=bool)
            for right, alike in looks_at:
                found = noise(right.mean(2), design.clusters, resolution=100 / size)
                p = p_values(found, ways, example_variance(right, groups), n_groups)
                if alike:
                    now[:2] |= (p_values(found, ways) < LEVEL).any(), (p < LEVEL).any()
                else:
                    now[2] |= p[0] < LEVEL
            called += now
        in_groups = n_groups if n_groups < size else ""
        print(f"| {design} | {size} | {in_groups} | {' | '.join(f'{share:.3f}' for share in called / n)} |", flush=True)


BINS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.001)


def calibration(said: np.ndarray, came: np.ndarray) -> str:
    """Cells of a table: chance that was said -> share that came true."""
    parts = [(said >= low) & (said < high) for low, high in itertools.pairwise(BINS)]
    return " | ".join(f"{said[p].mean():.2f} → {came[p].mean():.2f}" if p.sum() >= 30 else "" for p in parts)


def chance(rng: np.random.Generator, n: int) -> None:
    """Print how often the recommended arm is within the margin of the best, by the chance that was said."""
    rows = []
    for k, spread, sd, seeds, far in np.ndindex(3, 4, 2, 4, 2):
        for _ in range(n):
            arms, tau = (4, 9, 20)[k], (0.0, 0.5, 1.0, 3.0)[spread]
            mean = tau * rng.standard_normal(arms) - 10 * (rng.random(arms) < 0.5) * far
            sds = (1.0, 2.0)[sd] * np.exp(rng.uniform(-0.6, 0.6, arms))
            s = (2, 3, 5, 10)[seeds]
            values = mean[:, None] + sds[:, None] * rng.standard_normal((arms, s)) + 1.5 * rng.standard_normal((1, s))
            cost = 10 ** rng.uniform(0, 2, arms)
            drawn = draw_means(noise(values, np.arange(arms)), None, 1.0)
            chosen = select(drawn.means, cost, 1.0, np.ones(arms, dtype=bool))
            best = int(values.mean(1).argmax())
            lost = mean.max() - mean[[chosen.arm, best]]
            rows.append([arms, tau, far, s, chosen.chance[chosen.arm], *lost, cost[chosen.arm] / cost[best]])
    table = np.array(rows)
    print("| studies | below .5 | .5 | .6 | .7 | .8 | .9 | .95 | .99 | points lost | by the best mean | cost / its |")
    print("|---" * 12 + "|")
    groups = {"all": table[:, 0] > 0, "means differ (sd .5 to 3)": table[:, 1] > 0, "all equal": table[:, 1] == 0}
    for column, name in ((1, "sd of means"), (3, "seeds"), (0, "arms"), (2, "half are 10 points worse")):
        for value in np.unique(table[:, column]):
            groups[f"{name} {value:g}"] = (table[:, column] == value) & (table[:, 1] > 0)
    for name, part in groups.items():
        if part.any():
            of = table[part]
            ends = f"{of[:, 5].mean():.2f} | {of[:, 6].mean():.2f} | {np.exp(np.log(of[:, 7]).mean()):.2f}"
            print(f"| {name} | {calibration(of[:, 4], of[:, 5] <= 1.0)} | {ends} |")
    sure = table[:, 4] >= 0.95
    print(f"settled {sure.mean():.2f}, of these wrong {(table[sure, 5] > 1).mean():.4f}")


@dataclass(frozen=True)
class Study:
    """A simulated or recorded study with all its runs.

    Attributes:
        mean: True means.
        values: All runs, shape (arms, seeds).
        scores: Without any run.
    """

    mean: np.ndarray
    values: np.ndarray
    scores: Scores

    def read(self, made: np.ndarray) -> Scores:
        """With the runs that were made."""
        scores = self.scores
        return Scores(
            scores.arms, np.where(made, self.values, np.nan), scores.with_source, scores.clusters, scores.cost,
            None, scores.unfinished, scores.failed, scores.resolution,
        )  # fmt: skip

    def wrong(self, said: Decision) -> tuple[bool, bool]:
        """Whether the outcome and the recommended arm are false."""
        source = self.scores.with_source
        gain = self.mean[source].max() - self.mean[~source].max()
        helping = [self.scores.arms.index(name) for name in said.helping]
        false = (
            any(self.mean[arm] <= self.mean[~source].max() for arm in helping)
            or (said.outcome in ("no", "tie") and gain > 1)
            or (said.outcome == "tie" and gain < -1)
        )
        lost = self.mean.max() - self.mean[self.scores.arms.index(said.recommended or "")]
        return bool(false), bool(said.decided and lost > 1)


def study(mean: np.ndarray, values: np.ndarray, n_ways: int, clusters: np.ndarray, cost: np.ndarray) -> Study:
    """The first arms have a source."""
    k = len(mean)
    nothing = np.zeros(values.shape, dtype=bool)
    names = tuple(str(arm) for arm in range(k))
    empty = np.full(values.shape, np.nan)
    scores = Scores(names, empty, np.arange(k) < n_ways, clusters, cost, None, np.zeros(k, dtype=bool), nothing, 0.0)
    return Study(mean, values, scores)


def drawn_study(rng: np.random.Generator, arms: int, tau: float, gain: float, sd: float, seeds: int) -> Study:
    """True means with standard deviation tau, a quarter of the arms without a source and the others `gain` higher."""
    n_ways = arms - max(1, arms // 4)
    ways = np.arange(arms) < n_ways
    mean = tau * rng.standard_normal(arms) + gain * ways
    sds = sd * np.exp(rng.uniform(-0.6, 0.6, arms))
    values = mean[:, None] + sds[:, None] * rng.standard_normal((arms, seeds)) + 1.5 * rng.standard_normal((1, seeds))
    return study(
        mean, values, n_ways, np.where(ways, np.arange(arms) % 3, 3 + np.arange(arms)), 10 ** rng.uniform(0, 2, arms)
    )


def decides(rng: np.random.Generator, n: int) -> None:
    """Print how often the seeds that a decision asks for decide whether transfer helps."""
    rows = []
    for trial in range(10 * n):
        s, quiet = int(rng.choice([2, 3, 4, 5])), trial % 3 == 0
        sd, gain = float(rng.choice([0.5, 1, 2])), float(rng.choice([0, 0, 1, 3]))
        one = drawn_study(rng, int(rng.choice([3, 5, 9, 14])), float(rng.choice([0.5, 1, 3])), gain, sd, s + 12)
        if quiet:  # baselines that draw nothing
            ways = one.scores.with_source
            one = replace(one, values=np.where(ways[:, None], one.values, one.mean[:, None]))
        made = np.broadcast_to(np.arange(s + 12) < s, one.values.shape).copy()
        asked = decide(one.read(made)).more_seeds
        if asked is not None:
            for name in asked.arms:
                made[int(name), s : s + asked.seeds] = True
            after = decide(one.read(made))
            rows.append([quiet, asked.chance, after.outcome != "inconclusive", asked.seeds, s])
    table = np.array(rows, dtype=float)
    print("| studies | n | below .5 | .5 | .6 | .7 | .8 | .9 | .95 | .99 | said .8 or more |\n" + "|---" * 11 + "|")
    groups = {"all": table[:, 0] >= 0, "baselines that draw nothing": table[:, 0] == 1}
    groups |= {f"from {s} seeds": table[:, 4] == s for s in (2, 3, 4, 5)}
    for name, part in groups.items():
        of = table[part]
        most = of[of[:, 1] >= 0.8]
        end = f"{most[:, 1].mean():.2f} → {most[:, 2].mean():.2f}"
        print(f"| {name} | {len(of)} | {calibration(of[:, 1], of[:, 2])} | {end} |")


def run_race(one: Study) -> tuple[np.ndarray, Decision, bool]:
    """Which runs a race makes, what is said at its end, and whether any look before was false on "whether"."""
    made = np.zeros(one.values.shape, dtype=bool)
    false = False
    while runs := next_runs([one.read(made)]).runs:
        made[runs[0].arm, runs[0].seed] = True
        if made.all(axis=0).any() and made.sum() % 3 == 0:
            false |= one.wrong(decide(one.read(made)))[0]
    said = decide(one.read(made))
    return made, said, false or one.wrong(said)[0]


def race(rng: np.random.Generator, n: int) -> None:
    """Print how many runs races take, as a share of five seeds of everything, and how often they are wrong."""
    head = "| arms | sd of means, gain | runs: median | where a kind is 2 sd ahead | where an arm is | cost | "
    head += "whether decided | wrong of these | false at any look | which decided | wrong of these |\n"
    print(head + "|---" * 11 + "|")
    for arms, share in ((5, 1.0), (9, 0.4), (16, 0.4)):
        for tau, gain in ((0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (4.0, 0.0), (1.0, 4.0)):
            rows = []
            for _ in range(int(n * share)):
                one = drawn_study(rng, arms, tau, gain, 1.0, SEEDS)
                made, said, false = run_race(one)
                order = np.sort(one.mean)
                kinds = one.mean[one.scores.with_source].max() - one.mean[~one.scores.with_source].max()
                cost = (made * one.scores.cost[:, None]).sum() / (5 * one.scores.cost.sum())
                ahead = abs(kinds) >= 2, order[-1] - order[-2] >= 2
                decided, wrong = (said.outcome != "inconclusive", said.decided), one.wrong(said)
                rows.append([made.sum() / (5 * arms), *ahead, cost, decided[0], wrong[0], false, decided[1], wrong[1]])
            of = np.array(rows, dtype=float)
            clear = [f"{np.median(of[of[:, at] == 1, 0]):.2f}" if of[:, at].sum() > 4 else "" for at in (1, 2)]
            took = f"{np.median(of[:, 0]):.2f} | {' | '.join(clear)} | {np.median(of[:, 3]):.2f}"
            wrongly = [of[:, at + 1].sum() / max(of[:, at].sum(), 1) for at in (4, 7)]
            ended = f"{of[:, 4].mean():.2f} | {wrongly[0]:.3f} | {of[:, 6].mean():.3f}"
            ended += f" | {of[:, 7].mean():.2f} | {wrongly[1]:.3f}"
            print(f"| {arms} | {tau:g}, {gain:g} | {took} | {ended} |", flush=True)


def recorded_studies() -> Iterator[tuple[str, Study]]:
    """Five seeds of 17 to 22 methods on four pairs with two numbers of labels (docs/results/methods.md)."""
    for path in sorted(RUNS.glob("methods-*.csv")):
        with path.open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        for labels in sorted({row["n_target"] for row in rows}, key=int):
            of = [row for row in rows if row["n_target"] == labels]
            names = sorted({row["method"] for row in of}, key=lambda name: (name in WITHOUT_SOURCE, name))
            runs = [[row for row in of if row["method"] == name] for name in names]
            values = 100 * np.array([[float(row["accuracy"]) for row in arm] for arm in runs])
            cost = np.array([np.mean([float(row["seconds"]) for row in arm]) for arm in runs])
            n_ways = sum(name not in WITHOUT_SOURCE for name in names)
            clusters = np.where(np.arange(len(names)) < n_ways, 0, np.arange(len(names)))
            yield (
                f"{path.stem.removeprefix('methods-')}, {labels}",
                study(values.mean(1), values, n_ways, clusters, cost),
            )


def recorded(rng: np.random.Generator, n: int) -> None:
    """Print what is said of recorded runs, of three seeds of five, by a race, and of their noise alone."""
    print(
        "| pair, labels | five seeds: outcome, arms that help | three of five: the same outcome | the opposite | ",
        end="",
    )
    print(
        "lost by the recommended | chance said | race: runs | points lost | noise alone: false |\n" + "|---" * 9 + "|"
    )
    for name, one in recorded_studies():
        k = len(one.mean)
        full = decide(one.read(np.ones(one.values.shape, dtype=bool)))
        same, opposite, lost, said, shares, lost_by_race, false = [], [], [], [], [], [], []
        for _ in range(max(n // 20, 5)):
            order = rng.permutation(5)
            shuffled = Study(one.mean, one.values[:, order], one.scores)
            three = decide(shuffled.read(np.broadcast_to(np.arange(5) < 3, one.values.shape)))
            same.append(three.outcome.split(",")[0] == full.outcome.split(",")[0])
            opposite.append({three.outcome.split(",")[0], full.outcome.split(",")[0]} == {"helps", "no"})
            lost.append(one.mean.max() - one.mean[int(three.recommended or 0)])
            said.append(three.chance)
        for _ in range(max(n // 40, 3)):
            order = rng.permutation(5)
            made, end, _ = run_race(Study(one.mean, one.values[:, order], one.scores))
            shares.append(made.mean())
            lost_by_race.append(one.mean.max() - one.mean[int(end.recommended or 0)])
        ways, controls = np.flatnonzero(one.scores.with_source), np.flatnonzero(~one.scores.with_source)
        rest = one.values - one.mean[:, None]
        for _ in range(n):  # seeds in random order and with random signs, a part of the arms, at every look
            some = [rng.choice(of, rng.integers(1, len(of) + 1), replace=False) for of in (ways, controls)]
            arms = np.concatenate(some)
            n_ways = int((arms < len(ways)).sum())
            flipped = (rest * rng.choice([-1.0, 1.0], 5))[arms][:, rng.permutation(5)] * np.sqrt(5 / 4)
            flipped[n_ways + 1 :] -= rng.choice([0.0, 10.0])
            called = False
            for s in (3, 4, 5):
                found = noise(flipped[:, :s], one.scores.clusters[arms])
                called |= bool((p_values(found, n_ways) < LEVEL).any())
            false.append(called)
        middle = f"{np.mean(same):.2f} | {np.mean(opposite):.2f} | {np.mean(lost):.2f} | {np.mean(said):.2f}"
        ends = f"{np.median(shares):.2f} | {np.mean(lost_by_race):.2f} | {np.mean(false):.3f}"
        print(f"| {name} | {full.outcome}, {len(full.helping)} of {k} | {middle} | {ends} |", flush=True)


SECTIONS = {f.__name__: f for f in (error, sides, labels, power, examples, chance, gain, tie, decides, race, recorded)}


def main() -> None:
    """Print one section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", choices=list(SECTIONS))
    parser.add_argument("--studies", type=int, default=200)
    given = parser.parse_args()
    SECTIONS[given.section](np.random.default_rng(20261126), given.studies)


if __name__ == "__main__":
    main()
