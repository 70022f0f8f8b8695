"""What the studies syn2real*.toml and glyph-law*.toml say of the findings of Mikami et al. 2021.

python examples/syn2real.py runs/syn2real.sqlite FOLDER [--labels 300] [--complexity cifar10_18k.npz]
python examples/syn2real.py docs/results/runs/glyph-law.csv FOLDER --labels 100

Reads the finished runs of every study in a store, or those of a CSV. Figures are numbered as in the paper; what came of
them is in docs/results/syn2real.md and glyph-law.md. With --complexity the
negative entropy of each source is measured by the features of a network that has learnt those images (Figure 6).
"""

import argparse
import re
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from transferscope.analyses.scaling.axes import (
    LINE_POINTS,
    add_legend,
    log_axes,
    new_panels,
)
from transferscope.data import load
from transferscope.errors import DataError
from transferscope.numerics.intervals import t_interval
from transferscope.report.figures.style import drawing, mark_styles
from transferscope.scaling import extrapolate, fit_hierarchical, fit_law, fit_surface
from transferscope.scaling.advice.advise import advise
from transferscope.scaling.observations import Observations, observe
from transferscope.store import Store
from transferscope_papers.mikami2021.rows import surface_table

ATTRIBUTES = ("plain", "several", "light", "background", "texture", "all", "upright")
TASKS = ("all", "kinds", "count", "box", "segmentation", "normals")
"""Sources that differ in their task alone; "all" is the class of the largest solid, with every attribute."""
LEVELS = (0.05, 0.5, 0.95)


def runs(path: Path, method: str) -> pd.DataFrame:
    """Final errors of a method: target, network, source, n (0 from scratch), s, seed, error, stderr (over examples)."""
    if path.suffix == ".csv":
        return pd.read_csv(path, keep_default_na=False)
    with Store.open(path, create=False) as store:
        return _stored(store, method)


def _stored(store: Store, method: str) -> pd.DataFrame:
    rows = []
    for study in store.studies():
        network = "x".join(map(str, study.spec["network"]["widths"]))
        target = re.sub(r"^npz:|.*/|_.*", "", study.spec["target"]["data"])
        cells = {stored.cell.key: stored.cell.labels for stored in store.cells(study.name)}
        found = pd.DataFrame(store.records(study.name).columns())
        final = found[found["step"].isna() & (found["part"] == "target_test") & (found["name"] == "accuracy")]
        for key, value, stderr in zip(final["key"], final["value"], final["stderr"], strict=True):
            label = cells[key]
            if label["method"] not in ("scratch", method):
                continue
            place = (target, network, label.get("source") or "", label.get("n_source") or 0, label["n_target"])
            rows.append((*place, label["seed"], 1 - value, stderr))
    columns = ["target", "network", "source", "n", "s", "seed", "error", "stderr"]
    return pd.DataFrame(rows, columns=columns).drop_duplicates(columns[:6], ignore_index=True)


def curve(rows: pd.DataFrame) -> Observations:
    """Mean error over seeds at every pre-training size.

    Its standard error is that over seeds, pooled over the sizes: all of them have the same test examples, whose choice
    moves a curve and not its slope. One seed alone has the standard error over test examples.
    """
    found = rows[rows["n"] > 0].groupby("n")
    means = found.agg(error=("error", "mean"), stderr=("stderr", "mean"), seeds=("seed", "count"))
    degrees = int((means["seeds"] - 1).sum())
    if degrees:
        off = rows["error"] - found["error"].transform("mean")
        means["stderr"] = np.sqrt((off**2).sum() / degrees)
    return observe(means.index.to_numpy(float), means["error"], stderr=means["stderr"] / np.sqrt(means["seeds"]))


def curves(rows: pd.DataFrame, *, by: str) -> dict[str, Observations]:
    """A curve for each value of a column that has at least three sizes."""
    made = {str(name): curve(part) for name, part in rows[rows["source"] != ""].groupby(by, sort=False)}
    return {name: data for name, data in made.items() if data.n_distinct >= 3}


def slope_of(one: Observations) -> tuple[float, float]:
    """Slope of the error over log n by weighted least squares, and its standard error."""
    x, weights = np.log(one.sizes[:, 0]), 1 / np.asarray(one.stderr) ** 2
    x = x - np.average(x, weights=weights)
    return float((weights * x * one.errors).sum() / (weights * x**2).sum()), float((weights * x**2).sum() ** -0.5)


def fits(rows: pd.DataFrame, *, by: str = "source") -> pd.DataFrame:
    """Law (1) for each curve: medians and 90 % intervals of alpha and C under a common prior, and the scenario.

    The target error of the scenario is 95 % of the lowest measured one, and up to 1.6 million images are feasible.
    A curve that does not fall has no parameters.
    """
    data = curves(rows, by=by)
    together = fit_hierarchical(data)
    wanted = 0.95 * float(min(one.errors.min() for one in data.values()))
    table = []
    falling = dict(zip(together.names, together.posteriors, strict=True))
    for name, one in data.items():
        free = fit_law(one.sizes, one.errors, stderr=one.stderr)
        advice = advise(
            one.sizes[:, 0],
            one.errors,
            stderr=one.stderr,
            target_error=wanted,
            posterior=falling.get(name),
            largest_size=1.6e6,
        )
        entry: dict[str, object] = {by: name, "sizes": len(one), "first": one.errors[0], "last": one.errors[-1]}
        slope, certain = slope_of(one)
        posterior = falling.get(name) if slope < 0 else None
        for parameter in ("alpha", "C"):
            for level in LEVELS:
                values = None if posterior is None else posterior.quantile(getattr(posterior, parameter), level)
                entry[f"{parameter} {level:g}"] = float("nan") if values is None else values
            entry[f"{parameter} free"] = free.estimates[parameter].status
        entry |= {
            "slope": slope,
            "slope stderr": certain,
            "wanted": wanted,
            "scenario": advice.decision.scenario if advice.decision else "",
        }
        table.append(entry)
    return pd.DataFrame(table)


def slopes(rows: pd.DataFrame) -> pd.DataFrame:
    """Change of the error over a factor e of n by source and number of labels: mean over seeds, 95 % t-interval."""
    table = []
    for (target, source, s), part in rows[rows["n"] > 0].groupby(["target", "source", "s"], sort=False):
        errors = part.pivot_table(index="seed", columns="n", values="error").dropna()
        x = np.log(errors.columns.to_numpy(float))
        x -= x.mean()
        table.append({"target": target, "source": source, "s": s, **over_seeds(errors.to_numpy() @ x / (x @ x))})
    return pd.DataFrame(table)


def beside_plain(rows: pd.DataFrame) -> pd.DataFrame:
    """Error at the largest n by source and number of labels, with its difference to "plain" on the same seeds."""
    table = []
    for (target, s), part in rows[rows["n"] == rows["n"].max()].groupby(["target", "s"]):
        errors = part.pivot_table(index="seed", columns="source", values="error")
        for source in errors.columns if "plain" in errors else ():
            apart = over_seeds((errors[source] - errors["plain"]).dropna().to_numpy())
            table.append({"target": target, "source": source, "s": s, "error": errors[source].mean(), **apart})
    return pd.DataFrame(table)


def over_seeds(values: np.ndarray) -> dict[str, float]:
    """Mean and 95 % t-interval."""
    mean = t_interval(values)
    low, high = (mean.interval.low, mean.interval.high) if mean.interval else (np.nan, np.nan)
    return {"mean": mean.value, "low": low, "high": high}


def held_out(rows: pd.DataFrame) -> pd.DataFrame:
    """Root mean square error at sizes above an eighth of the largest, of what is fitted to the others.

    Law (1) by the posterior mean, both laws by least squares, the last value, and `extrapolate`.
    """
    table = []
    for (target, source, s), part in rows[rows["n"] > 0].groupby(["target", "source", "s"], sort=False):
        data = curve(part)
        known = data.sizes[:, 0] <= data.sizes.max() / 8
        seen, unseen = data.take(known), data.take(~known)
        if seen.n_distinct < 3:
            continue
        try:
            posterior = fit_hierarchical({"one": seen}).posteriors[0]
        except DataError:  # a law that only falls has nothing to say of errors that rise
            law = np.full(len(unseen), np.nan)
        else:
            law = posterior.weights @ posterior.predict(unseen.sizes[:, 0])
        predicted = {
            "law (1), posterior": law,
            "law (1)": fit_law(seen.sizes, seen.errors, law="power+floor", stderr=seen.stderr).predict(unseen.sizes),
            "power law": fit_law(seen.sizes, seen.errors, law="power", stderr=seen.stderr).predict(unseen.sizes),
            "last value": np.full(len(unseen), seen.errors[-1]),
            "extrapolate": extrapolate(seen.sizes[:, 0], seen.errors, at=unseen.sizes[:, 0]).predicted,
        }
        entry = {name: float(np.sqrt(np.mean((values - unseen.errors) ** 2))) for name, values in predicted.items()}
        table.append({"target": target, "source": source, "s": s, **entry})
    return pd.DataFrame(table)


def draw_curves(panels: dict[str, dict[str, Observations]], path: Path) -> None:
    """Measured errors with the median law of each curve under a common prior (Figures 1, 4 and 6 left)."""
    names = list(dict.fromkeys(name for data in panels.values() for name in data))
    styles = mark_styles(names, "upright")  # grey: one more than there are colours
    lined = set()
    with drawing():
        canvas, axes = new_panels(len(panels))
        for drawn, (title, data) in zip(axes, panels.items(), strict=True):
            together = fit_hierarchical(data)
            falling = dict(zip(together.names, together.posteriors, strict=True))
            for name, one in data.items():
                style = styles[name]
                slope, _ = slope_of(one)
                drawn.errorbar(
                    one.sizes[:, 0],
                    one.errors,
                    one.stderr,
                    fmt=style.mark,
                    color=style.colour,
                    markersize=3.5,
                    linewidth=0.6,
                )
                if name in falling and slope < 0:  # no falling law is drawn through points that rise
                    lined.add(name)
                    line = np.geomspace(one.sizes.min(), one.sizes.max(), LINE_POINTS)
                    middle = [falling[name].quantile(values, 0.5) for values in falling[name].predict(line).T]
                    drawn.plot(line, middle, color=style.colour, linewidth=1.1)
            drawn.set_title(title)
            log_axes(drawn, x_title="Pre-training images n", y_title="Target error")
        look = {"markersize": 4, "linewidth": 1.1}
        handles = [
            Line2D([], [], color=one.colour, marker=one.mark, ls="-" if name in lined else "", label=name, **look)
            for name, one in styles.items()
        ]
        canvas.legend(handles=handles, loc="outside upper left", ncols=3, fontsize=8, title="Source", title_fontsize=8)
        canvas.savefig(path, dpi=110)


def draw_parameters(tables: dict[str, pd.DataFrame], path: Path, *, by: str = "source") -> None:
    """Medians and 90 % intervals of alpha and C by source (Figures 6 right and 8), but where errors do not fall."""
    with drawing():
        canvas, axes = new_panels(2, width=3.6)
        styles = mark_styles(list(tables), None)
        for drawn, parameter in zip(axes, ("alpha", "C"), strict=True):
            for shift, (target, table) in enumerate(tables.items()):
                y = np.arange(len(table)) + 0.2 * (shift - (len(tables) - 1) / 2)
                low, middle, high = (table[f"{parameter} {level:g}"] for level in LEVELS)
                drawn.errorbar(
                    middle,
                    y,
                    xerr=(middle - low, high - middle),
                    fmt=styles[target].mark,
                    color=styles[target].colour,
                    markersize=4,
                    linewidth=1,
                )
                for place in y[middle.isna()]:
                    drawn.text(
                        0.03, place, "does not fall", transform=drawn.get_yaxis_transform(), va="center", fontsize=7
                    )
                drawn.set_yticks(np.arange(len(table)), table[by])
                drawn.set_ylim(-0.5, len(table) - 0.5)
            drawn.set_xlabel({"alpha": "Pre-training rate alpha", "C": "Transfer gap C"}[parameter])
            drawn.invert_yaxis()
        add_legend(canvas, styles, title="Target")
        canvas.savefig(path, dpi=110)


def draw_complexity(tables: dict[str, pd.DataFrame], entropy: pd.DataFrame, path: Path) -> None:
    """Alpha and C with their 90 % intervals against the negative entropy of the scenes (Figure 6, right).

    Left out are sources whose errors do not fall with n, which have neither.
    """
    of_source = entropy.set_index("source")["negative entropy"]
    with drawing():
        canvas, axes = new_panels(2, width=3.6)
        styles = mark_styles(list(tables), None)
        for drawn, (parameter, title) in zip(
            axes, (("alpha", "Pre-training rate alpha"), ("C", "Transfer gap C")), strict=True
        ):
            for target, table in tables.items():
                known = table[table["source"].isin(of_source.index)].dropna(subset=f"{parameter} 0.5")
                low, middle, high = (known[f"{parameter} {level:g}"] for level in LEVELS)
                drawn.errorbar(
                    known["source"].map(of_source),
                    middle,
                    yerr=(middle - low, high - middle),
                    fmt=styles[target].mark,
                    color=styles[target].colour,
                    markersize=4,
                    linewidth=1,
                )
                for source, x, y in zip(known["source"], known["source"].map(of_source), middle, strict=True):
                    drawn.annotate(str(source), (x, y), xytext=(3, 3), textcoords="offset points", fontsize="x-small")
            drawn.set_xlabel("Negative entropy (lower: more varied)")
            drawn.set_ylabel(title)
        add_legend(canvas, styles, title="Target")
        canvas.savefig(path, dpi=110)


def entropy_of(features: np.ndarray, index: np.ndarray) -> float:
    """Negative entropy of some examples' features."""
    from transferscope_papers.mikami2021.entropy import negative_entropy

    return negative_entropy(features[index])


def complexity(images: Path, sources: dict[str, str]) -> pd.DataFrame:
    """Negative entropy of the features of 2,000 scenes of each source, by one network that has learnt real images."""
    from transferscope.methods import FitOptions, pretrain
    from transferscope.models import NetworkSettings, build_network
    from transferscope.numerics.jackknife import jackknife
    from transferscope.training import TrainingSettings, outputs_of, to_tensors

    real = load(f"npz:{images}", transforms=("resize:16",))
    start = build_network(NetworkSettings("conv4", (8, 16, 32, 64)), (3, 16, 16), len(real.train.classes or ()), seed=0)
    options = FitOptions(TrainingSettings(steps=600, lr=0.05), device="cpu", curve_examples=0)
    fitted = pretrain(real, start, options)
    table = []
    for name, spec in sources.items():
        scenes = load(f"{spec}&size=16&n_train=2000&n_test=1").train
        features = outputs_of(fitted.network.features, to_tensors(scenes, fitted.scale)).double().numpy()
        value = jackknife(partial(entropy_of, features), len(features))
        table.append({"source": name, "negative entropy": value.value, "stderr": value.stderr})
    return pd.DataFrame(table)


def main() -> None:
    """Print the tables and write them and the figures to a folder."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("store", type=Path)
    asked.add_argument("folder", type=Path)
    asked.add_argument("--method", default="fine-tune")
    asked.add_argument("--labels", type=int, default=300)
    asked.add_argument("--complexity", type=Path)
    given = asked.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    rows = runs(given.store, given.method)
    tables: dict[str, pd.DataFrame] = {"runs": rows}
    usual = rows["network"].value_counts().index[0]
    main_rows = rows[(rows["network"] == usual) & (rows["s"] == given.labels)]
    order = [name for name in dict.fromkeys((*ATTRIBUTES, *TASKS)) if name in set(main_rows["source"])]
    by_target = {}
    for target, part in main_rows.groupby("target", sort=False):
        found = (
            part.set_index("source").loc[["", *[name for name in order if name in set(part["source"])]]].reset_index()
        )
        by_target[str(target)] = found
        tables[f"fits-{target}"] = fits(found)
    for figure, names in (("fig1", TASKS), ("fig6", ATTRIBUTES)):
        panels = {name: curves(part[part["source"].isin(names)], by="source") for name, part in by_target.items()}
        panels = {name: data for name, data in panels.items() if data}
        if not panels:
            continue
        draw_curves(panels, given.folder / f"{figure}.png")
        chosen = {name: tables[f"fits-{name}"] for name in by_target}
        chosen = {name: table[table["source"].isin(names)] for name, table in chosen.items()}
        draw_parameters(chosen, given.folder / f"{figure}-parameters.png")
    tables |= {
        "held-out": held_out(rows[rows["network"] == usual]),
        "slopes": slopes(rows),
        "beside-plain": beside_plain(rows),
    }
    scratch = rows[rows["n"] == 0].groupby(["target", "network", "s"])["error"].agg(["mean", "count"]).reset_index()
    tables["scratch"] = scratch
    same = rows[(rows["source"] == "all") & (rows["s"] == given.labels)]
    for target, part in same.groupby("target", sort=False):
        if part["network"].nunique() > 1:
            tables[f"networks-{target}"] = fits(
                pd.concat([part, rows[(rows["target"] == target) & (rows["n"] == 0)]]), by="network"
            )
    together = rows[rows["source"].isin(["plain", "all"]) & (rows["network"] == usual)]
    for (target, source), part in together.groupby(["target", "source"], sort=False):
        if part["s"].nunique() > 1:
            means = part.groupby(["n", "s"], as_index=False)["error"].mean()
            tables[f"surface-{target}-{source}"] = surface_table(fit_surface(means["n"], means["s"], means["error"]))
    if given.complexity is not None:
        every = "appearance=several&light=random&background=random&texture=with"
        changes = ("", "appearance=several", "light=random", "background=random", "texture=with", every)
        specs = {
            name: f"scenes?task=class{'&' if change else ''}{change}"
            for name, change in zip(ATTRIBUTES, changes, strict=True)
        }
        tables["complexity"] = complexity(given.complexity, specs)
        draw_complexity(
            {name: tables[f"fits-{name}"] for name in by_target},
            tables["complexity"],
            given.folder / "fig6-complexity.png",
        )
    for name, table in tables.items():
        table.to_csv(given.folder / f"{name}.csv", index=False)
        if name == "held-out" and len(table) > 1:
            over = table.drop(columns=["target", "source", "s"]).agg(["median", "mean"])
            print(f"held-out, over all curves\n{over}\n")
        elif name != "runs":
            print(f"{name}\n{table.to_string(index=False, float_format='{:.3f}'.format)}\n")


if __name__ == "__main__":
    main()
