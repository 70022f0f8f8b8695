"""What choosing settings on one draw of the labels, for all seeds, costs in accuracy and in honesty, and what it saves.

    python -m benchmarks.search_once FOLDER [SEEDS]

Every setting of each method is run with every seed, and every seed chooses one by cross-validation. From these runs
follow, without another: the accuracy where each seed chooses for itself, that where one of them chooses for all, and
how often a 95 % t-interval over five seeds, which share the choice of one of them, holds the mean over seeds and
choices.
Interrupted, it goes on where it was. Tables: docs/results/decision.md.
"""

import sys
from itertools import product
from pathlib import Path

import numpy as np
from scipy import stats

from transferscope.store import Store
from transferscope.study.run import run_study
from transferscope.study.spec import parse_spec

GRID = {
    "scratch": {"lr": [0.002, 0.01, 0.05], "weight_decay": [0.0005, 0.01]},
    "fine-tune": {"lr_scale": [0.1, 0.5, 1.0], "weight_decay": [0.0005, 0.01]},
    "l2-sp": {"lr_scale": [0.1, 0.5, 1.0], "beta": [0.01, 0.3]},
}
LABELS, SEEDS_OF_A_STUDY, DRAWS = 50, 5, 4000


def tables(folder: Path, n_seeds: int) -> dict[str, object]:
    """What both studies share."""
    return {
        "seeds": n_seeds,
        "store": str(folder / "search-once.sqlite"),
        "target": {"data": "digits", "labels": [LABELS]},
        "sources": {"glyphs": {"data": "glyphs?n_train=4000&size=8"}},
        "recipe": "equal",
        "network": {"name": "mlp"},
        "pretraining": {"steps": 600},
        "engine": {"workers": 1, "keep": "none"},
    }


def main(folder: Path, n_seeds: int) -> None:
    """Run both studies and print the table."""
    folder.mkdir(parents=True, exist_ok=True)
    shared, training = tables(folder, n_seeds), {"steps": 150, "lr": 0.01}
    tuning = {"draw": "each", "grid": GRID}
    each = {**shared, "name": "each", "training": training, "methods": {name: {} for name in GRID}, "tuning": tuning}
    studies = [parse_spec(each, place="each")]
    for lr, decay in sorted(
        {(lr, 0.0005) for lr in GRID["scratch"]["lr"]} | set(product(GRID["scratch"]["lr"], [0.01]))
    ):
        methods: dict[str, object] = {"scratch": {}}
        if lr == training["lr"]:
            methods |= {f"fine-tune-{s}": {"method": "fine-tune", "lr_scale": s} for s in GRID["fine-tune"]["lr_scale"]}
            betas = GRID["l2-sp"]["beta"] if decay == 0.0005 else []
            for scale, beta in product(GRID["l2-sp"]["lr_scale"], betas):
                methods[f"l2-sp-{scale}-{beta}"] = {"method": "l2-sp", "lr_scale": scale, "beta": beta}
        of_rate = {**training, "lr": lr, "weight_decay": decay}
        one = {**shared, "name": f"lr-{lr}-{decay}", "training": of_rate, "methods": methods}
        studies.append(parse_spec(one, place="one"))
    scores: dict[tuple[str, str], np.ndarray] = {}
    chosen: dict[str, list[str]] = {name: [] for name in GRID}
    seconds = {name: np.zeros(2) for name in GRID}  # of runs with and without a search
    with Store.open(folder / "search-once.sqlite") as store:
        for spec in studies:
            run_study(spec, store)
            records = store.records(spec.name)
            accuracy = {
                key: value
                for key, name, part, step, value in zip(
                    records.key, records.name, records.part, records.step, records.value, strict=True
                )
                if (name, part, step) == ("accuracy", "target_test", None)
            }
            for one in store.cells(spec.name):
                if one.cell.role != "method" or one.cost is None:
                    continue
                table = str(one.cell.labels["method"])
                method = next(name for name in GRID if table.startswith(name))
                seed = int(str(one.cell.labels["seed"]))
                if spec.name == "each":
                    chosen[method].append(_name(one.notes["chosen"]))
                    seconds[method][0] += one.cost.seconds / n_seeds
                else:
                    own = dict(zip(("lr_scale", "beta"), table.removeprefix(method).split("-")[1:], strict=False))
                    training_of = spec.training
                    values = {"lr": training_of.lr, "weight_decay": training_of.weight_decay, **own}
                    setting = _name({name: float(values[name]) for name in GRID[method]})
                    scores.setdefault((method, setting), np.full(n_seeds, np.nan))[seed] = 100 * accuracy[one.cell.key]
                    seconds[method][1] += one.cost.seconds / n_seeds / 6
    print("| method | accuracy, each seed chooses | one chooses for all | coverage, each | one for all | time saved |")
    print("|---|---|---|---|---|---|")
    rng = np.random.default_rng(0)
    for method in GRID:
        table = {setting: values for (name, setting), values in scores.items() if name == method}
        picks = chosen[method]
        own = np.array([table[picks[s]][s] for s in range(n_seeds)])
        by_pick = np.array([table[pick] for pick in picks])  # (who chooses, seed)
        truth, held = by_pick.mean(), np.zeros(2)
        for _ in range(DRAWS):
            seeds = rng.choice(n_seeds, SEEDS_OF_A_STUDY, replace=False)
            for i, values in enumerate((own[seeds], by_pick[seeds[0], seeds])):
                half = stats.t.ppf(0.975, SEEDS_OF_A_STUDY - 1) * stats.sem(values)
                held[i] += abs(values.mean() - (own.mean(), truth)[i]) <= half
        saved = 1 - (SEEDS_OF_A_STUDY - 1) / SEEDS_OF_A_STUDY * seconds[method][1] / seconds[method][0]
        saved -= 1 / SEEDS_OF_A_STUDY
        print(
            f"| {method} | {own.mean():.2f} (sd {own.std(ddof=1):.2f}) | {truth:.2f} "
            f"(sd {by_pick.mean(axis=1).std(ddof=1):.2f} over who chooses) | {held[0] / DRAWS:.3f} | "
            f"{held[1] / DRAWS:.3f} | {100 * saved:.0f} % |"
        )


def _name(settings: dict[str, float]) -> str:
    return " ".join(f"{name}={float(value):g}" for name, value in sorted(settings.items()))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 24)
