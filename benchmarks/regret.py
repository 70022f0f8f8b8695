"""What the recommended arm loses, and how often each question is answered, by the seconds that are spent.

    python -m benchmarks.regret [--races N] [--policies NAME ...] [--results FOLDER]

Replays recorded studies and writes docs/results/runs/regret.csv, docs/img/regret.png and the tables of
docs/results/regret.md. Policies of the file that are not asked for keep their rows.

A race draws its runs from a recorded study: means of arms are kept, and the residuals of whole seeds are drawn with
replacement and with a random sign, so that what a seed gives to all arms stays common to them. A policy makes runs
until the cost of five seeds of every arm is spent. Whatever is learnt from other studies leaves out the data set.

--results is a folder with `torchgeo_bench.csv`. It has one seed: a run varies there by the bootstrap error over test
examples, and takes as long as its backbone, at the recorded throughput, reads the training and test examples.
"""

import argparse
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from transferscope.decision import Scores, next_runs
from transferscope.decision.standing import stand
from transferscope.decision.which import SETTLED

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "docs" / "results" / "runs"
TORCHGEO_WITHOUT_SOURCE = ("rcf", "imagestats")  # random filters, and statistics of the image
WITHOUT_SOURCE = frozenset(
    ["raw", "scratch", "small-scratch", "random-features", "boosting", "boosting-ridge", "merlin-target-only"]
).union(TORCHGEO_WITHOUT_SOURCE)
SEEDS, GRID = 12, 5
SHARES = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
OURS = "transferscope"


@dataclass(frozen=True)
class Recorded:
    """A recorded study at one number of labels.

    Attributes:
        data: Its data set, by which studies are left out.
        kinds: Of each arm, its method.
        mean: In points, shape (A,).
        rest: Residuals of seeds, shape (A, S).
        cost: Seconds of a run, shape (A,).
    """

    name: str
    data: str
    kinds: tuple[str, ...]
    mean: np.ndarray
    rest: np.ndarray
    cost: np.ndarray

    @property
    def with_source(self) -> np.ndarray:
        """Which arms have a source."""
        return np.array([kind not in WITHOUT_SOURCE for kind in self.kinds])

    def drawn(self, race: int) -> np.ndarray:
        """Runs of SEEDS seeds, shape (A, SEEDS)."""
        rng = np.random.default_rng([zlib.crc32(self.name.encode()), race])
        n = self.rest.shape[1]
        if n == 1:
            return np.asarray(self.mean[:, None] + self.rest * rng.standard_normal((len(self.mean), SEEDS)))
        return np.asarray(
            self.mean[:, None] + self.rest[:, rng.integers(n, size=SEEDS)] * rng.choice([-1, 1], size=SEEDS)
        )

    def scores(self, values: np.ndarray) -> Scores:
        """What a decision reads, NaN where there is no run."""
        k = len(self.kinds)
        return Scores(
            arms=tuple(f"{kind} {at}" for at, kind in enumerate(self.kinds)),
            values=values,
            with_source=self.with_source,
            clusters=np.where(self.with_source, 0, np.arange(1, k + 1)),
            cost=self.cost,
            example_variance=None,
            unfinished=np.zeros(k, dtype=bool),
            failed=np.zeros(values.shape, dtype=bool),
        )


def recorded() -> Iterator[Recorded]:
    """Studies of docs/results/runs with times of their runs: at least four arms with three seeds in common."""
    for path in [RUNS / "real.csv", *sorted(RUNS.glob("methods-*.csv"))]:
        runs = pd.read_csv(path, comment="#").rename(columns={"accuracy": "score"})
        if "study" not in runs:
            runs["study"] = path.stem.removeprefix("methods-")
        for (study, labels), group in runs.groupby(["study", "n_target"]):
            scores = group.pivot_table(index="method", columns="seed", values="score")
            scores = scores.dropna(axis=1, thresh=max(2, int(0.8 * len(scores)))).dropna()
            kinds, values = tuple(scores.index), 100 * scores.to_numpy()
            has = {kind in WITHOUT_SOURCE for kind in kinds}
            if len(kinds) < 4 or values.shape[1] < 3 or len(has) < 2 or values.min() < -100:
                continue
            cost = group.groupby("method")["seconds"].mean().reindex(kinds).fillna(group["seconds"].mean())
            mean, n = values.mean(axis=1), values.shape[1]
            rest = (values - mean[:, None]) * np.sqrt(n / (n - 1))
            yield Recorded(f"{study}@{labels}", str(study), kinds, mean, rest, np.maximum(cost.to_numpy(), 0.05))


def public(folder: Path) -> Iterator[Recorded]:
    """Linear probes of torchgeo-bench: pretrained backbones beside random filters and statistics of the image."""
    table = pd.read_csv(folder / "torchgeo_bench.csv", low_memory=False)
    speed = table[table["metric_name"] == "throughput_samples_per_sec"].groupby("name")["metric_value"].median()
    probes = table[(table["method"] == "linear") & table["ci_lower"].notna()]
    for data, group in probes.groupby("dataset"):
        by_name = group.groupby("name").agg({"metric_value": "mean", "ci_lower": "mean", "ci_upper": "mean"})
        by_name = by_name[by_name.index.isin(speed.index) | by_name.index.isin(WITHOUT_SOURCE)]
        kinds = tuple(by_name.index)
        if len({kind in WITHOUT_SOURCE for kind in kinds}) < 2:
            continue
        n = float(group["n_train"].iloc[0] + group["n_test"].iloc[0])
        cost = n / speed.reindex(kinds).fillna(speed.max()).to_numpy()
        error = 100 * (by_name["ci_upper"] - by_name["ci_lower"]).to_numpy() / (2 * 1.96)
        yield Recorded(
            f"torchgeo {data}", str(data), kinds, 100 * by_name["metric_value"].to_numpy(), error[:, None], cost
        )


Step = Callable[[np.ndarray], list[tuple[int, int]]]
"""Runs to make next of what there is, as (arm, seed); none at the end."""


def ours(one: Recorded) -> Step:
    """The race of `compare`; of very many arms, some at once."""

    def step(values: np.ndarray) -> list[tuple[int, int]]:
        found = next_runs([one.scores(values)], at_once=max(1, len(one.kinds) // 12))
        return [(run.arm, run.seed) for run in found.runs]

    return step


def in_order(one: Recorded, *, seeds: int) -> Step:
    """Every arm with a seed, the cheapest first, then with the next."""
    order = np.argsort(one.cost, kind="stable")
    plan = iter([(int(arm), seed) for seed in range(seeds) for arm in order])
    return lambda _: [run] if (run := next(plan, None)) else []


def halving(one: Recorded) -> Step:
    """Every arm with a seed, then the better half with twice as many in all, and so on."""
    order = [int(arm) for arm in np.argsort(one.cost, kind="stable")]
    left, wanted = order, 1

    def step(values: np.ndarray) -> list[tuple[int, int]]:
        nonlocal left, wanted
        while True:
            n = (~np.isnan(values)).sum(axis=1)
            short = [arm for arm in left if n[arm] < min(wanted, SEEDS)]
            if short:
                return [(short[0], int(n[short[0]]))]
            if len(left) == 1 and wanted >= SEEDS:
                return []
            best = np.argsort(-np.nanmean(values[left], axis=1), kind="stable")[: max(1, (len(left) + 1) // 2)]
            left, wanted = [arm for arm in left if arm in {left[at] for at in best}], 2 * wanted

    return step


def once(_: Recorded, *, arm: int) -> Step:
    """One run of one arm."""
    return lambda values: [(arm, 0)] if np.isnan(values[arm, 0]) else []


def best_mean(values: np.ndarray, cost: np.ndarray) -> int:
    """The arm with the best mean, drawn towards the common one where runs are few; the cheapest without a run."""
    n = (~np.isnan(values)).sum(axis=1)
    if not n.any():
        return int(np.argmin(cost))
    mean = np.where(n > 0, np.nansum(values, axis=1) / np.maximum(n, 1), np.nan)
    squares = float(np.nansum((values - mean[:, None]) ** 2))
    variance = (squares + 4 * 1.5**2) / (np.maximum(n - 1, 0).sum() + 4)
    spread = max(float(np.nanstd(mean)), 5.0) ** 2
    drawn = (np.nanmean(mean) / spread + n * np.nan_to_num(mean) / variance) / (1 / spread + n / variance)
    return int(np.argmax(np.where(n > 0, drawn, -np.inf)))


def replay(one: Recorded, race: int, step: Step) -> Iterator[dict[str, object]]:
    """What is lost, and which questions are answered, at each share of the grid's cost."""
    truth, values = one.drawn(race), np.full((len(one.kinds), SEEDS), np.nan)
    budget, spent, shares = GRID * one.cost.sum(), 0.0, list(SHARES)
    while shares:
        runs = step(values)
        for arm, seed in runs:
            while shares and spent + one.cost[arm] > shares[0] * budget * (1 + 1e-9):
                yield {"share": shares.pop(0), **judged(one, values)}
            if not shares:
                break
            values[arm, seed] = truth[arm, seed]
            spent += one.cost[arm]
        if not runs:
            end = judged(one, values)
            yield from ({"share": share, **end} for share in shares)
            return


def judged(one: Recorded, values: np.ndarray) -> dict[str, object]:
    """Of the runs so far: points lost by the best mean and by the recommended arm, and whether both are decided."""
    now = stand(one.scores(values), margin=1.0)
    arm = best_mean(values, one.cost)
    chosen = arm if now is None else int(now.at[now.selection.arm])
    top, several = one.mean.max(), now is not None and len(now.at) > 1
    return {
        "lost": round(float(top - one.mean[arm]), 3),
        "lost_recommended": round(float(top - one.mean[chosen]), 3),
        "whether": int(now is not None and now.outcome in ("helps", "helps, within the margin", "tie", "no")),
        "which": int(several and now is not None and bool(now.selection.chance[now.selection.arm] >= SETTLED)),
    }


def policies(one: Recorded, others: list[Recorded]) -> dict[str, Step]:
    """Policies by name; those that need a method are left out where the study has none of it."""
    found = {
        OURS: ours(one),
        "seed by seed": in_order(one, seeds=GRID),
        "best of one seed": in_order(one, seeds=1),
        "successive halving": halving(one),
    }
    found |= {f"always {kind}": once(one, arm=one.kinds.index(kind)) for kind in FIXED if kind in one.kinds}
    ranks: dict[str, list[float]] = {}
    for other in others:
        for kind, rank in zip(other.kinds, np.argsort(np.argsort(-other.mean)) / len(other.kinds), strict=True):
            ranks.setdefault(kind, []).append(float(rank))
    known = {kind: float(np.mean(ranks[kind])) for kind in one.kinds if len(ranks.get(kind, ())) > 1}
    if known:
        found["best kind elsewhere"] = once(one, arm=one.kinds.index(min(known, key=known.__getitem__)))
    return found


FIXED = ("linear-probe", "fine-tune")


def races(studies: list[Recorded], n: int, names: list[str] | None) -> pd.DataFrame:
    """Replay every study n times with each policy."""
    rows = []
    for one in studies:
        others = [other for other in studies if other.data != one.data]
        for race in range(n):
            for name, step in policies(one, others).items():
                if names is None or name in names:
                    rows += [
                        {"study": one.name, "race": race, "policy": name, **row} for row in replay(one, race, step)
                    ]
        print(f"{one.name}: {len(one.kinds)} arms", flush=True)
    return pd.DataFrame(rows)


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """By policy and share: means, the ninetieth percentile, and how far it is from ours, with errors over studies."""
    by_study = rows.groupby(["policy", "share", "study"])[["lost", "lost_recommended", "whether", "which"]].mean()
    found = by_study.groupby(["policy", "share"]).agg("mean")
    found["stderr"] = by_study["lost"].groupby(["policy", "share"]).sem()
    found["p90"] = rows.groupby(["policy", "share"])["lost"].quantile(0.9)
    lost = by_study["lost"].unstack("policy")
    behind = lost.sub(lost[OURS], axis=0).stack().groupby(["policy", "share"])
    found["behind"], found["behind_stderr"] = behind.mean(), behind.sem()
    found["studies"] = by_study["lost"].groupby(["policy", "share"]).size()
    return found


def tables(rows: pd.DataFrame) -> list[str]:
    """The lines of the page's tables."""
    found = summary(rows)
    order = sorted({policy for policy, _ in found.index}, key=lambda name: (name != OURS, found.loc[name, 1.0]["lost"]))
    head = " | ".join(f"{share:.0%}" for share in SHARES)
    lines = [f"| policy | {head} | studies |", "|---" * (len(SHARES) + 2) + "|"]
    for name in order:
        cells = [f"{row.lost:.2f} ± {row.stderr:.2f} ({row.p90:.1f})" for row in found.loc[name].itertuples()]
        lines.append(f"| {name} | {' | '.join(cells)} | {int(found.loc[name]['studies'].iloc[0])} |")
    lines += ["", f"| policy, less {OURS} | {head} |", "|---" * (len(SHARES) + 1) + "|"]
    for name in order[1:]:
        cells = [f"{row.behind:+.2f} ± {row.behind_stderr:.2f}" for row in found.loc[name].itertuples()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", "| policy | whether, half | end | which, half | end | the recommended arm loses, half | end |"]
    lines += ["|---" * 7 + "|"]
    for name in order:
        half, end = found.loc[name, 0.5], found.loc[name, 1.0]
        cells = [f"{at[what]:.2f}" for what in ("whether", "which", "lost_recommended") for at in (half, end)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def draw(rows: pd.DataFrame, path: Path) -> None:
    """Regret against cost: the mean with its error, and the ninetieth percentile."""
    found = summary(rows)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True)
    for name in sorted({policy for policy, _ in found.index}, key=lambda name: name != OURS):
        of = found.loc[name]
        style = {"linewidth": 2.5, "zorder": 3} if name == OURS else {"linewidth": 1}
        axes[0].errorbar(100 * of.index, of["lost"], yerr=of["stderr"], label=name, capsize=2, **style)
        axes[1].plot(100 * of.index, of["p90"], **style)
    for one, title in zip(axes, ("mean", "ninetieth percentile"), strict=True):
        one.set(xscale="log", xlabel="cost, % of five seeds of every arm", ylabel=f"points lost, {title}")
        one.set_yscale("symlog", linthresh=0.5)
        one.set_ylim(bottom=0)
        one.set_xticks([100 * share for share in SHARES], [f"{100 * share:.0f}" for share in SHARES])
        one.minorticks_off()
    figure.legend(loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0.14, 1, 1))
    figure.savefig(path, dpi=110)


def main() -> None:
    """Run the replays and write what came of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--races", type=int, default=2)
    parser.add_argument("--policies", nargs="+")
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    studies = [*recorded(), *(public(given.results) if given.results else ())]
    rows, file = races(studies, given.races, given.policies), RUNS / "regret.csv"
    if file.exists():
        before = pd.read_csv(file)
        rows = pd.concat([rows, before[~before["policy"].isin(rows["policy"].unique())]])
    rows.to_csv(file, index=False)
    draw(rows, ROOT / "docs" / "img" / "regret.png")
    page = ROOT / "docs" / "results" / "regret.md"
    text = page.read_text(encoding="utf-8")
    start, end = "<!-- tables -->\n", "<!-- end of tables -->"
    before_tables, _, rest = text.partition(start)
    page.write_text(before_tables + start + "\n".join(tables(rows)) + "\n" + end + rest.partition(end)[2], "utf-8")


if __name__ == "__main__":
    main()
