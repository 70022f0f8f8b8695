"""Choosing pretrained models from history, on published results: language models by size, and remote sensing models.

    python benchmarks/history.py language FOLDER
    python benchmarks/history.py sensing torchgeo_bench.csv
    python benchmarks/history.py rules FOLDER
    python benchmarks/history.py coverage

coverage: whether the 90 % band of what a proposal expects holds the truth, on simulated tasks of 30 arms, drawn from
two directions and a rest, whose level and scale differ; 1,000 tasks.

language: test losses of 30 models fine-tuned on up to 1,638,400 examples of three tasks, seen up to 1 / ratio of the
largest size. Relative accuracy is (worst - chosen) / (worst - best) in the loss at the largest size, and the
correlation is Pearson's between predicted and true losses; the published rows use the same data and ratios. With
history, the final losses on the other two tasks are known.
sensing: linear probes of pretrained and untrained backbones on eleven data sets: which beat the best untrained one.
rules: nine tables of tasks and arms, of what comes with the package, `results/` and `scaling/` below FOLDER; each task
is left out in turn with its versions (20 tasks at most): how many runs a rule needs to come within 2 and 1 points of
the best arm, and what is lost after 3 and 6 runs. Rivals: random order, the list of means, the nearest known tasks, the
model and the cover alone.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from transferscope.analyses.history.proposals import predict, standardised
from transferscope.analyses.history.records import shipped_rows
from transferscope.scaling import extrapolate
from transferscope.scaling.advice.label_plan import draw_curve
from transferscope.scaling.observations import observe

RATIOS = (8, 32, 128, 512)
LAST = 1638400.0
RESAMPLES = 400
DRAWS = 1000
RULES = ("random", "list", "task-kNN", "model", "cover", "cover and model in turn")
NEIGHBOURS = 3
MOST_TASKS = 20
UNTRAINED = ("imagestats", "rcf")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["language", "sensing", "rules", "coverage"])
    parser.add_argument("place", type=Path, nargs="?")
    asked = parser.parse_args()
    if asked.part == "coverage":
        coverage()
    elif asked.place is None:
        parser.error(f"{asked.part} needs the place of its tables")
    else:
        {"language": language, "sensing": sensing, "rules": rules}[asked.part](asked.place)


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


def rules(folder: Path) -> None:
    means = []
    for name, scores, versions in tables(folder):
        rows = []
        chosen = np.random.default_rng(0).permutation(len(scores))[:MOST_TASKS] if len(scores) > MOST_TASKS else None
        for task in range(len(scores)) if chosen is None else chosen:
            others = scores.to_numpy()[[version != versions[task] for version in versions]]
            usable = np.isfinite(scores.to_numpy()[task]) & np.isfinite(others).any(axis=0)
            others = others[:, usable][np.isfinite(others[:, usable]).sum(axis=1) > 1]
            if len(others) > 1 and usable.sum() > 2:
                truth = scores.to_numpy()[task, usable]
                rows += [{"rule": rule, **race(truth, others, rule)} for rule in RULES]
        table = pd.DataFrame(rows).groupby("rule").mean().loc[list(RULES)]
        left_out = f"{scores.shape[1]} arms, {len(rows) // len(RULES)} tasks left out"
        print(f"\n{name}: {left_out}\n{table.round(2).to_string()}", flush=True)
        means.append(table)
    print(f"\nmean over {len(means)} tables\n{(sum(means) / len(means)).round(2).to_string()}")


def tables(folder: Path) -> Iterator[tuple[str, pd.DataFrame, list[str]]]:
    """Scores in points, more is better, a row for each task, with what each task is a version of."""
    known = shipped_rows().assign(
        score=lambda rows: 100 * rows["score"].where(rows["better"] == "higher", -rows["score"])
    )
    for origin, name in (("CLIP_benchmark", "CLIP models"), ("recorded races", "recorded races")):
        rows = known[known["origin"] == origin]
        rows = rows.assign(task=rows["task"] + ", " + rows["labels"].map(str))
        scores = rows.pivot_table(index="task", columns="arm", values="score")
        yield name, scores, [task.split(",")[0] for task in scores.index]
    rows = known[(known["origin"] == "Fine-tuning-Scaling-Law") & (known["labels"] >= 12800)]
    rows = rows.assign(task=rows["task"] + " " + rows["labels"].map(str))
    scores = rows.pivot_table(index="task", columns="arm", values="score")
    yield "language models", scores, [task.split()[0] for task in scores.index]
    frame = pd.read_csv(folder / "results" / "torchgeo_bench.csv", low_memory=False)
    frame = frame[frame["metric_name"].isin(["accuracy", "micro_mAP"])]
    linear = frame["method"] == "linear"
    for name, part, columns in (
        ("remote sensing, linear probes", frame[linear], ["name"]),
        ("remote sensing, k-NN", frame[~linear], ["name"]),
        ("remote sensing, probe x bands", frame, ["name", "method", "bands"]),
        ("remote sensing, probe x bands x scaling", frame, ["name", "method", "bands", "normalization"]),
    ):
        scores = 100 * part.pivot_table(index="dataset", columns=columns, values="metric_value")
        least = 3 if "normalization" in columns else 0
        yield name, scores.loc[:, scores.notna().sum() > least], [family(dataset) for dataset in scores.index]
    clip = pd.DataFrame(json.loads((folder / "results" / "clip_linear_probes.json").read_text(encoding="utf-8")))
    scores = 100 * clip.pivot_table(index=["dataset", "k"], columns=["model", "pretrained", "lr"], values="lp_acc1")
    yield "CLIP models x rates", scores, [dataset for dataset, _ in scores.index]
    curves = pd.read_csv(folder / "scaling" / "learning_curves.csv")
    curves = curves[curves["suite"] == "lcdb"]
    found = []
    for curve, points in curves.groupby("curve"):
        task, arm = str(curve).split(" ", 1)
        for n in (64, 512):
            if points["x"].min() <= 1.3 * n and points["x"].max() >= n / 1.3:
                error = np.interp(np.log(n), np.log(points["x"]), points["y"])
                found.append({"task": task, "n": n, "arm": arm, "score": -100 * error})
    scores = pd.DataFrame(found).pivot_table(index=["task", "n"], columns="arm", values="score")
    scores = scores[scores.notna().sum(axis=1) >= 4]
    yield "learners on small tables", scores, [task for task, _ in scores.index]


def family(dataset: str) -> str:
    """Versions of one data set are left out together: "m-eurosat" and "eurosat-spatial"."""
    return dataset.removeprefix("m-").split("-")[0].replace("benv2", "bigearthnet")


def race(truth: np.ndarray, others: np.ndarray, rule: str) -> dict[str, float]:
    """Runs until the best probe is within 2 and 1 points of the best arm, and what is lost after 3 and 6 runs."""
    probes: dict[int, float] = {}
    order = np.random.default_rng(0).permutation(len(truth)).tolist() if rule == "random" else predict(others, {}).order
    while not probes or max(probes.values()) < truth.max():
        found = predict(others, probes)
        if rule == "cover and model in turn":
            order = found.order
        elif rule == "cover":
            order = np.lexsort((-found.mean, -found.improvement, -found.cover)).tolist()
        elif rule == "task-kNN" and len(probes) > 1:
            order = np.argsort(-neighbours(others, probes)).tolist()
        elif rule == "model" and probes:
            order = np.lexsort((-found.mean, -found.improvement)).tolist()
        arm = next(arm for arm in order if arm not in probes)
        probes[arm] = float(truth[arm])
    lost = truth.max() - np.maximum.accumulate(list(probes.values()))
    at = {f"lost after {n}": float(lost[min(n, len(lost)) - 1]) for n in (3, 6)}
    return {"within 2 points": float((lost > 2).sum() + 1), "within 1 point": float((lost > 1).sum() + 1), **at}


def neighbours(others: np.ndarray, probes: dict[int, float]) -> np.ndarray:
    """Mean standardised scores over the NEIGHBOURS tasks whose scores of the probes are nearest in order."""
    z = np.nan_to_num(standardised(others))
    places = list(probes)
    own = np.array([probes[place] for place in places])
    own = (own - own.mean()) / (own.std() or 1.0)
    seen = z[:, places] - z[:, places].mean(axis=1, keepdims=True)
    seen /= np.where(seen.std(axis=1, keepdims=True) > 0, seen.std(axis=1, keepdims=True), 1.0)
    nearest = np.argsort(((seen - own) ** 2).sum(axis=1), kind="stable")[:NEIGHBOURS]
    return np.asarray(z[nearest].mean(axis=0))


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
