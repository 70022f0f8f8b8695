"""Scores beside what transfer gave over the studies of a store, and how far that can be trusted.

    python benchmarks/audit.py audit STORE                  every score and plain controls, over all targets
    python benchmarks/audit.py errors                       false leaders and coverage, simulated
    python benchmarks/audit.py forecast STORE FOLDER        transfer or scratch, told from scores, on recorded studies
    python benchmarks/audit.py calibrate STORE FOLDER       whether they give the chance that a source is the best

STORE is that of `race_recorded run` (version 0.3); FOLDER holds what `transferscope rank STORE --study NAME --json`
printed, as NAME.json.
"""

import argparse
import json
import math
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from audit_agreement import AuditCase, audit_cases, with_static_list
from audit_cases import cases_of
from scipy import stats

from transferscope.analyses.rank.hindsight import resampled_mean
from transferscope.estimate import Estimate
from transferscope.store import Store

SPLIT = Path(__file__).with_name("audit_split.toml")
N_AUDITS = 60
N_COVERAGE = 1000
N_SCORES = 8


def show_audit(store: Store, against: str) -> None:
    """Print how every score and control agrees with what a method gave, the closest first, and which leads."""
    cases = cases_of(store, against, n_draws=3)
    if len({case.target for case in cases}) < 2:
        raise SystemExit("an audit takes finished studies of two targets or more, each of two sources or more")
    found = audit_cases(with_static_list(cases))
    print(f"{'':20} {'Spearman':>22} {'weighted tau':>22} {'points lost':>22} {'saved':>22}      p  cases")
    for one in found.agreements:
        lost, saved = (_shown(each, 100.0) for each in (one.lost, one.saved))
        columns = (_shown(one.spearman), _shown(one.weighted_tau), lost, saved)
        print(f"{one.score:20} {' '.join(f'{text:>22}' for text in columns)} {one.p_value:6.3f} {one.n_cases:6}")
    print(f"leader: {found.leader}")
    for control, more in found.beside.items():
        print(f"  the {control} loses {_shown(more, 100.0)} points more")


def _shown(number: Estimate | None, scale: float = 1.0) -> str:
    if number is None:
        return ""
    ends = "" if (found := number.interval) is None else f" ({scale * found.low:.2f} to {scale * found.high:.2f})"
    return f"{scale * number.value:.2f}{ends}"


def false_leaders(rng: np.random.Generator, n_targets: int, n_sources: int) -> float:
    """How often some score leads that has nothing to do with what transfer gave; two numbers of labels a target."""
    leads = 0
    for _ in range(N_AUDITS):
        cases = []
        for target in range(n_targets):
            gave = rng.normal(size=n_sources)
            rows = {f"s{k}": rng.normal(size=n_sources) for k in range(N_SCORES)}
            for n in (50, 300):
                noisy = {name: row + 0.3 * rng.normal(size=(3, n_sources)) for name, row in rows.items()}
                measured = gave + 0.3 * rng.normal(size=n_sources)
                names = tuple(map(str, range(n_sources)))
                cases.append(AuditCase(str(target), n, names, measured, noisy))
        leads += audit_cases(with_static_list(cases)).leader is not None
    return leads / N_AUDITS


def coverage(rng: np.random.Generator, n_targets: int) -> dict[str, float]:
    """How often an interval over targets holds the mean that they are drawn from."""
    shapes = {
        "normal": (lambda: rng.normal(size=n_targets), 0.0),
        "exponential (points lost)": (lambda: rng.exponential(size=n_targets), 1.0),
        "2 beta(4, 1) - 1 (correlations)": (lambda: 2 * rng.beta(4, 1, size=n_targets) - 1, 0.6),
    }
    units, found = np.arange(n_targets), {}
    for name, (draw, truth) in shapes.items():
        intervals = [resampled_mean(draw(), units) for _ in range(N_COVERAGE)]
        found[name] = float(np.mean([one.low <= truth <= one.high for one in intervals]))
    return found


def told(store: Store, folder: Path) -> pd.DataFrame:
    """One row for each study, source and score: what the score says against random features, and what was gained."""
    rows = []
    for file in sorted(folder.glob("*.json")):
        study = file.stem
        gains = _gains(store, study)
        for row in json.loads(file.read_text(encoding="utf-8"))["rows"]:
            if row["candidate"] in gains and row["above_random"] is not None and row["above_random_low"] is not None:
                says = 1 if row["above_random_low"] > 0 else -1 if row["above_random_high"] < 0 else 0
                rows.append((study.split("-")[0], row["n_target"], row["candidate"], row["score"], says))
                rows[-1] += gains[row["candidate"]]
    columns = ["target", "n_target", "source", "score", "says", "gain", "stderr"]
    return pd.DataFrame(rows, columns=columns).drop_duplicates(["target", "n_target", "source", "score"])


def _gains(store: Store, study: str) -> dict[str, tuple[float, float]]:
    """Fine-tuning minus training from scratch by source, mean over seeds with its standard error."""
    labels = {one.cell.key: one.cell.labels for one in store.cells(study) if one.cell.role == "method"}
    records = pd.DataFrame(store.records(study).columns())
    final = records[records["name"].eq("accuracy") & records["part"].eq("target_test") & records["step"].isna()]
    value = {
        (labels[key]["method"], labels[key]["source"], labels[key]["seed"]): float(found)
        for key, found in zip(final["key"], final["value"], strict=True)
        if key in labels
    }
    found = {}
    for source in {source for method, source, _ in value if method == "fine-tune"}:
        seeds = [seed for method, name, seed in value if (method, name) == ("fine-tune", source)]
        gains = np.array([value["fine-tune", source, seed] - value["scratch", None, seed] for seed in seeds])
        found[str(source)] = (float(gains.mean()), float(stats.sem(gains)))
    return found


def show_forecast(rows: pd.DataFrame, targets: list[str]) -> None:
    """Print how often each score speaks on these targets, and how often it is right."""
    own = rows[rows["target"].isin(targets)].assign(right=lambda x: (np.sign(x["gain"]) == x["says"]).astype(float))
    cells = own.drop_duplicates(["target", "n_target", "source"])
    clear = cells["gain"].abs() > 2 * cells["stderr"]
    print(
        f"\n{', '.join(targets)}: {len(cells)} cells, {clear.sum()} clear; "
        f"transfer gains in {(cells['gain'] > 0).mean():.2f}"
    )
    print(f"{'':12} speaks  right  clear: right of   says transfer: right   says scratch: right   by target")
    for score, group in own.groupby("score", sort=False):
        spoken = group[group["says"] != 0]
        sure = spoken[spoken["gain"].abs() > 2 * spoken["stderr"]]
        by_target = " ".join(f"{t} {int(x.right.sum())}/{len(x)}" for t, x in spoken.groupby("target"))
        parts = [f"{int(x.right.sum())}/{len(x)}" for x in (sure, spoken[spoken.says > 0], spoken[spoken.says < 0])]
        right = spoken["right"].mean() if len(spoken) else math.nan
        share = len(spoken) / len(group)
        print(f"{score:12} {share:6.2f} {right:6.2f}  {parts[0]:>15} {parts[1]:>22} {parts[2]:>21}   {by_target}")


def show_chances(store: Store, folder: Path) -> None:
    """Print what the chance of the first source by each score is, and how often that source really gave most."""
    found: dict[str, list[tuple[float, bool]]] = {}
    for file in sorted(folder.glob("*.json")):
        gains = _gains(store, file.stem)
        best = max(gains, key=lambda source: gains[source][0])
        table = pd.DataFrame(json.loads(file.read_text(encoding="utf-8"))["rows"]).dropna(subset=["probability_best"])
        for score, group in table.groupby("score"):
            first = group.loc[group["value"].idxmax()]
            if first["candidate"] in gains:
                found.setdefault(str(score), []).append((first["probability_best"], first["candidate"] == best))
    print(
        "\nthe first source's chance of being best, as said and as it was (rankings that random features do not lead)"
    )
    every = [row for rows in found.values() for row in rows]
    for score, rows in [*found.items(), ("all", every)]:
        said, right = np.mean(rows, axis=0)
        sure = [hit for chance, hit in rows if chance > 0.95]
        print(f"{score:12} {said:.2f} said, {right:.2f} right of {len(rows)}; said > 0.95: {sum(sure)} of {len(sure)}")


@dataclass(frozen=True)
class Ranking:
    """One score's ranking of the sources of one study, random features left out.

    Attributes:
        target: Of the study.
        score: Its name.
        chances: Of scoring highest on other examples, for every source; sum 1.
        best: Which source gave most, over all seeds.
    """

    target: str
    score: str
    chances: np.ndarray
    best: int


def rankings(store: Store, folder: Path) -> list[Ranking]:
    """Those of all studies in which random features are not first."""
    found = []
    for file in sorted(folder.glob("*.json")):
        gains = _gains(store, file.stem)
        table = pd.DataFrame(json.loads(file.read_text(encoding="utf-8"))["rows"]).dropna(subset=["probability_best"])
        for score, group in table.groupby("score"):
            own = group[group["candidate"].isin(gains)]
            if group.loc[group["value"].idxmax(), "candidate"] in gains:
                chances = own["probability_best"].to_numpy() + 1e-12
                truth = int(np.argmax([gains[name][0] for name in own["candidate"]]))
                found.append(Ranking(file.stem.split("-")[0], str(score), chances / chances.sum(), truth))
    return found


def mixed(ranking: Ranking, weight: float) -> np.ndarray:
    """The score is what counts with this weight, and says nothing otherwise."""
    return weight * ranking.chances + (1 - weight) / len(ranking.chances)


def tempered(ranking: Ranking, temperature: float) -> np.ndarray:
    """Chances to the power 1 / temperature, at least 0.0001 before."""
    powers = np.maximum(ranking.chances, 1e-4) ** (1 / temperature)
    return np.asarray(powers / powers.sum())


def by_place(ranking: Ranking, share: float) -> np.ndarray:
    """This share for the first, and the rest for all others alike, whatever the distances."""
    others = (1 - share) / (len(ranking.chances) - 1)
    return np.where(np.arange(len(ranking.chances)) == ranking.chances.argmax(), share, others)


def log_score(told: list[Ranking], chances: Callable[[Ranking, float], np.ndarray], setting: float) -> float:
    """Mean log probability of the source that gave most."""
    return float(np.mean([math.log(max(chances(one, setting)[one.best], 1e-4)) for one in told]))


def show_calibration(told: list[Ranking], split: dict[str, list[str]]) -> None:
    """Fit one number on the development targets, and print what it does on those that confirm it."""
    halves = {name: [one for one in told if one.target in targets] for name, targets in split.items()}
    development, confirmation = halves["development"], halves["confirmation"]
    rules = (
        ("as said", mixed, [1.0]),
        ("one in so many sources", mixed, [0.0]),
        ("mixture", mixed, list(np.linspace(0, 1, 101))),
        ("temperature", tempered, list(np.geomspace(0.5, 50, 101))),
        ("share of the first alone", by_place, list(np.linspace(0.01, 0.99, 99))),
    )
    print(f"{len(development)} rankings to fit, {len(confirmation)} to confirm")
    for name, chances, settings in rules:
        best = max(settings, key=lambda setting: log_score(development, chances, setting))
        scores = [log_score(half, chances, best) for half in (development, confirmation)]
        print(f"\n{name} ({best:.2f}): log score {scores[0]:.3f} fitted, {scores[1]:.3f} confirmed")
        for half, ones in halves.items():
            for low, high in ((0, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01)):
                firsts = [(chances(one, best)[(top := one.chances.argmax())], top == one.best) for one in ones]
                within = [(said, right) for said, right in firsts if low <= said < high]
                if within:
                    said, right = np.mean(within, axis=0)
                    print(f"  {half}: said {said:.2f} of the first, right {right:.2f} of {len(within)}")
    for score in sorted({one.score for one in told}):
        shares = []
        for ones in halves.values():
            right = [one.chances.argmax() == one.best for one in ones if one.score == score]
            shares.append(f"{sum(right)} of {len(right)}")
        print(f"{score:12} first is best: {', '.join(shares)}")


def main() -> int:
    """Simulate, or read what was recorded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=("audit", "errors", "forecast", "calibrate"))
    parser.add_argument("store", nargs="?")
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--against", default="fine-tune", help="the method whose results count in `audit`")
    asked = parser.parse_args()
    if asked.do == "errors":
        rng = np.random.default_rng(0)
        for n_targets, n_sources in ((3, 3), (4, 3), (4, 6), (8, 3), (8, 6)):
            found = false_leaders(rng, n_targets, n_sources)
            print(f"{n_targets} targets, {n_sources} sources: a false leader in {found:.3f} of {N_AUDITS}", flush=True)
        for n_targets in (3, 4, 8, 20):
            print(n_targets, "targets, coverage:", coverage(rng, n_targets), flush=True)
        return 0
    if asked.do == "audit" and asked.store is not None:
        with Store.open(asked.store, create=False) as store:
            show_audit(store, asked.against)
        return 0
    if asked.store is None or asked.folder is None:
        parser.error(f"{asked.do} needs STORE and FOLDER")
    split = tomllib.loads(SPLIT.read_text(encoding="utf-8"))
    with Store.open(asked.store, create=False) as store:
        if asked.do == "calibrate":
            show_calibration(rankings(store, asked.folder), split)
            return 0
        rows = told(store, asked.folder)
        show_chances(store, asked.folder)
    for targets in split.values():
        show_forecast(rows, targets)
    return 0


if __name__ == "__main__":
    sys.exit(main())
