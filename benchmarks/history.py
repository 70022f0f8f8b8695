"""Choosing pretrained models from history, on published results: language models by size, and remote sensing models.

    python benchmarks/history.py language FOLDER
    python benchmarks/history.py sensing torchgeo_bench.csv
    python benchmarks/history.py coverage

coverage: whether the 90 % band of what a proposal expects holds the truth, on simulated tasks of 30 arms, drawn from
two directions and a rest, whose level and scale differ; 1,000 tasks.

language: test losses of 30 models fine-tuned on up to 1,638,400 examples of three tasks, seen up to 1 / ratio of the
largest size. Relative accuracy is (worst - chosen) / (worst - best) in the loss at the largest size, and the
correlation is Pearson's between predicted and true losses; the published rows use the same data and ratios. With
history, the final losses on the other two tasks are known.
sensing: linear probes of pretrained and untrained backbones on eleven data sets, each left out in turn with its other
versions; how many
probes a rule needs to come within 1 and 2 points of the best, and which models beat the best untrained one.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from transferscope.analyses.history.proposals import predict
from transferscope.scaling import extrapolate
from transferscope.scaling.advice.label_plan import draw_curve
from transferscope.scaling.observations import observe

RATIOS = (8, 32, 128, 512)
LAST = 1638400.0
RESAMPLES = 400
DRAWS = 1000
UNTRAINED = ("imagestats", "rcf")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["language", "sensing", "coverage"])
    parser.add_argument("place", type=Path, nargs="?")
    asked = parser.parse_args()
    if asked.part == "coverage":
        coverage()
    elif asked.place is None:
        parser.error(f"{asked.part} needs the place of its tables")
    else:
        (language if asked.part == "language" else sensing)(asked.place)


def coverage() -> None:
    for n_tasks in (4, 8, 20):
        for n_tried in (2, 5, 10):
            rng = np.random.default_rng([n_tasks, n_tried])
            inside, n = 0, 0
            for _ in range(DRAWS):
                basis = rng.standard_normal((30, 2))
                rest = 0.5 * rng.standard_normal((n_tasks + 1, 30))
                draw = rng.standard_normal((n_tasks + 1, 2)) @ basis.T + rng.standard_normal(30) + rest
                draw = rng.normal(70, 10, size=(n_tasks + 1, 1)) + rng.uniform(2, 8, size=(n_tasks + 1, 1)) * draw
                tried = rng.permutation(30)[:n_tried]
                found = predict(draw[:-1], {int(arm): float(draw[-1, arm]) for arm in tried})
                left = np.setdiff1d(np.arange(30), tried)
                inside += int((np.abs(draw[-1, left] - found.mean[left]) <= 1.645 * found.sd[left]).sum())
                n += len(left)
            print(f"{n_tasks} tasks known, {n_tried} tried: {inside / n:.3f} of {DRAWS} tasks", flush=True)


def language(folder: Path) -> None:
    tables = {
        task: pd.read_csv(folder / f"llm_finetuning_{task}.csv").set_index("config name")
        for task in ("flan", "gigaword", "wmt19")
    }
    losses = {task: table[[c for c in table if c.isdigit()]] for task, table in tables.items()}
    models = losses["flan"].index
    rows, kept = [], {}
    for task, table in losses.items():
        table = table.loc[models]
        sizes = np.array([float(c) for c in table])
        final = table[f"{LAST:.0f}"].to_numpy()
        others = np.array([-np.log(losses[t].loc[models, f"{LAST:.0f}"]) for t in losses if t != task])
        for ratio in RATIOS:
            seen = (sizes <= LAST / ratio) & (sizes > 0)
            x, y = sizes[seen], table.to_numpy()[:, seen]
            curve = np.array([extrapolate(x, row, at=LAST).predicted[0] for row in y])
            grid = np.geomspace(x[0], LAST, 60)
            draws = np.array([np.median(draw_curve(observe(x, row), grid).errors[:, -1]) for row in y])
            prior = predict(others, {}).mean  # of -log loss, standardised
            together = -np.log(curve)
            scale = np.std(together) or 1.0
            weight = np.log2(ratio) / (np.log2(ratio) + 6)  # the further ahead, the more history counts
            predicted = {
                "last point": y[:, -1],
                "last three points": np.array([power(x[-3:], row[-3:]) for row in y]),
                "extrapolate": curve,
                "label plan": draws,
                "history, static": -prior,
                "history with extrapolate": np.exp(
                    -((1 - weight) * together + weight * (scale * prior + together.mean()))
                ),
            }
            for method, value in predicted.items():
                rows.append({"task": task, "ratio": ratio, "method": method, **quality(value, final)})
                kept[task, ratio, method] = (value, final)
    mine = pd.DataFrame(rows)
    published = pd.read_csv(folder / "llm_finetuning_published_selection.csv")
    published = published[published["ratio"].isin(RATIOS)].pivot_table(
        index=["dataset", "ratio", "method"], columns="metric", values="value"
    )
    published = published.reset_index().rename(columns={"RelAcc": "relative accuracy", "PearCorr": "Pearson"})
    published["task"] = published["dataset"].str.lower()
    published["method"] = "published: " + published["method"]
    both = pd.concat([mine, published.drop(columns="dataset")], ignore_index=True)
    for measure in ("relative accuracy", "Pearson"):
        print(f"\n{measure}")
        table = both.pivot_table(index="method", columns=["task", "ratio"], values=measure)
        print(table.round(3).to_string())
        print(table.mean(axis=1).rename("mean").round(3).to_string())
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(RESAMPLES):
        chosen = rng.integers(0, len(models), len(models))
        for (_, _, method), (value, final) in kept.items():
            drawn.append({"method": method, **quality(value[chosen], final[chosen])})
    n_cells = len(losses) * len(RATIOS)
    resampled = pd.DataFrame(drawn)
    resampled["draw"] = np.repeat(np.arange(RESAMPLES), len(kept))
    means = resampled.groupby(["method", "draw"]).mean().groupby("method").quantile([0.025, 0.975])
    print(f"\n95 % intervals of the mean over {n_cells} cells, models drawn again {RESAMPLES} times")
    print(means.round(3).unstack().to_string())


def power(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.exp(np.polyval(np.polyfit(np.log(x), np.log(y), 1), np.log(LAST))))


def quality(predicted: np.ndarray, final: np.ndarray) -> dict[str, float]:
    chosen = final[np.argmin(predicted)]
    accuracy = (final.max() - chosen) / (final.max() - final.min())
    return {
        "relative accuracy": float(accuracy),
        "Pearson": float(np.corrcoef(predicted, final)[0, 1]),
    }


def sensing(path: Path) -> None:
    frame = pd.read_csv(path, low_memory=False)
    frame = frame[(frame["method"] == "linear") & frame["metric_name"].isin(["accuracy", "micro_mAP"])]
    audit(frame)
    scores = 100 * frame.pivot_table(index="dataset", columns="name", values="metric_value", aggfunc="max")
    scores = scores.drop(columns=list(UNTRAINED))
    print(
        f"\n{scores.shape[1]} pretrained models on {len(scores)} data sets, "
        "one left out in turn with its other versions"
    )
    rows = []
    for dataset in scores.index:
        known = scores.loc[dataset].notna()
        truth = scores.loc[dataset, known].to_numpy()
        others = scores[[family(other) != family(dataset) for other in scores.index]].loc[:, known].to_numpy()
        for rule in ("proposals", "random"):
            repeats = 50 if rule == "random" else 1
            rows += [
                {"rule": rule, "dataset": dataset, **race(truth, others, rule, repeat)} for repeat in range(repeats)
            ]
    table = pd.DataFrame(rows).groupby(["rule", "dataset"]).mean().reset_index()
    by_rule = table.drop(columns="dataset").groupby("rule")
    print(by_rule.median().round(1).to_string())
    print("mean")
    print(by_rule.mean().round(1).to_string())
    rng = np.random.default_rng(0)
    within = table.pivot_table(index="dataset", columns="rule", values="within 2 points")
    for rule in within:
        draws = [np.median(rng.choice(within[rule], len(within))) for _ in range(2000)]
        print(f"{rule}: runs to 2 points, median {within[rule].median():.0f}, 95 % {np.quantile(draws, .025):.0f} to "
              f"{np.quantile(draws, .975):.0f} (bootstrap over data sets), worst {within[rule].max():.0f}")  # fmt: skip


def family(dataset: str) -> str:
    """Versions of one data set are left out together: "m-eurosat" and "eurosat-spatial"."""
    return dataset.removeprefix("m-").split("-")[0].replace("benv2", "bigearthnet")


def race(truth: np.ndarray, others: np.ndarray, rule: str, repeat: int) -> dict[str, float]:
    """Runs until the best probe is within 1 and 2 points of the best arm, and what is lost after 1, 3 and 6 runs."""
    usable = np.isfinite(others).sum(axis=1) > 1
    others = others[usable]
    if rule == "random":
        tried = np.random.default_rng(repeat).permutation(len(truth)).tolist()
    else:
        tried = []
        probes: dict[int, float] = {}
        while len(tried) < len(truth):
            order = predict(others, probes).order
            arm = next(arm for arm in order if arm not in probes)
            probes[arm] = float(truth[arm])
            tried.append(arm)
            if truth.max() - max(probes.values()) <= 0:
                break
    lost = truth.max() - np.maximum.accumulate(truth[tried])
    at = {f"lost after {n}": float(lost[min(n, len(lost)) - 1]) for n in (1, 3, 6)}
    return {"within 1 point": float((lost > 1).sum() + 1), "within 2 points": float((lost > 2).sum() + 1), **at}


def audit(frame: pd.DataFrame) -> None:
    """Pretrained entries against the best untrained one on the same data set and bands, with its interval."""
    best = frame.sort_values("metric_value").groupby(["dataset", "bands", "name"], as_index=False).last()
    control = best[best["name"].isin(UNTRAINED)].sort_values("metric_value").groupby(["dataset", "bands"]).last()
    entries = best[~best["name"].isin(UNTRAINED)].merge(
        control, left_on=["dataset", "bands"], right_index=True, suffixes=("", "_control")
    )
    sd = [(entries[f"ci_upper{s}"] - entries[f"ci_lower{s}"]) / 3.92 for s in ("", "_control")]
    gain, error = entries["metric_value"] - entries["metric_value_control"], np.hypot(*sd)
    print(f"{len(entries)} pretrained entries (data set, bands, model, its better setting)")
    print(f"lose to the best untrained one: {(gain < 0).sum()}")
    print(
        f"useful (gain above 1.96 standard errors): {(gain > 1.96 * error).sum()}; "
        f"harmful: {(gain < -1.96 * error).sum()}"
    )
    by_model = pd.DataFrame({"name": entries["name"], "useful": gain > 1.96 * error, "harmful": gain < -1.96 * error})
    share = by_model.groupby("name").agg(["sum", "count"])
    always = [n for n in share.index if share.loc[n, ("useful", "sum")] == share.loc[n, ("useful", "count")]]
    never = [n for n in share.index if share.loc[n, ("useful", "sum")] == 0]
    print(f"useful everywhere: {len(always)} models; nowhere: {', '.join(never) or 'none'}")


if __name__ == "__main__":
    main()
