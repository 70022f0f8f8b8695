"""The law of synthetic pre-training with disjoint classes: fitted over classes K, images n, labels s and seeds at once.

    python studies/theory/disjoint_law.py        # writes docs/img/glyph-disjoint.png, prints the tables of glyph-law.md

The error of K source classes, s labels and n images is C(K, s) + D(K, s) (n / 256)^-alpha, C and D at least 0, with one
alpha. A seed draws labels once for all K and n, so that its effect is random and the same for them: it moves all errors
of a seed and s together, and leaves alpha, D and differences of C alone. Weights are those of what is left of each s.
Runs are those of studies/glyph-disjoint.toml and, to USPS, of studies/glyph-disjoint-usps.toml.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.optimize import minimize_scalar, nnls
from scipy.stats import chi2
from stored import RUNS, csv_of, runs_of

from transferscope.analyses.scaling.axes import add_legend, log_axes, new_panels
from transferscope.errors import DataError
from transferscope.numerics.intervals import t_interval
from transferscope.report.figures.style import drawing, mark_styles

STUDY = "glyph-disjoint"
STUDIES = {"MNIST": STUDY, "USPS": f"{STUDY}-usps"}
"""By target."""
UNIT, STEEPEST = 256.0, 3.0
TIED = ("", "C", "D")
"""What all sources may share beside alpha: nothing, C(s) or D(s)."""


def errors_of(method: str = "fine-tune", *, study: str = STUDY) -> pd.DataFrame:
    """Return test errors: rows (source, s, n), columns the complete seeds; of scratch the source is "", n 0."""
    runs = runs_of(f"{STUDY}.csv")
    runs = runs[(runs["study"] == study) & (runs["method"] == method) & (runs["part"] == "target_test")]
    named = runs.assign(source=runs["source"].str.partition(" (")[0], n_source=runs["n_source"].fillna(0).astype(int))
    wide = named.pivot_table(index=["source", "n_target", "n_source"], columns="seed", values="value")
    return 1 - wide.rename_axis(index=["source", "s", "n"]).dropna(axis=1)


@dataclass(frozen=True)
class Law:
    """One fit.

    Attributes:
        alpha: The exponent of n that all sources share.
        chi2: Weighted squares that are left, of means over seeds.
        D, C: By source and s.
    """

    alpha: float
    chi2: float
    D: pd.Series
    C: pd.Series

    def predict(self, source: str, s: int, n: float) -> float:
        """Return the error at a size."""
        return float(self.C[source, s] + self.D[source, s] * (n / UNIT) ** -self.alpha)


def fit(errors: pd.DataFrame, *, tied: str = "", weights: Mapping[int, float] | None = None) -> Law:
    """Return the law with one alpha by weighted least squares.

    Args:
        errors: From `errors_of`, of one method.
        tied: One of `TIED`.
        weights: Of each s; None for those of these errors.
    """
    weights = weights_of(errors) if weights is None else weights
    means = errors.mean(axis=1)
    found = minimize_scalar(
        lambda alpha: _solve(means, alpha, tied, weights).chi2, bounds=(0.01, STEEPEST), method="bounded"
    )
    return _solve(means, float(found.x), tied, weights)


def weights_of(errors: pd.DataFrame) -> dict[int, float]:
    """Return the inverse standard error of a mean over seeds at each s, without the effect that a seed has on all."""
    found = {}
    for s, own in errors.groupby(level="s"):
        rest = own.sub(own.mean(axis=1), axis=0)
        rest = rest - rest.mean()
        degrees = (len(own) - 1) * (own.shape[1] - 1)
        found[int(s)] = float(np.sqrt(own.shape[1] * degrees / (rest.to_numpy() ** 2).sum()))
    return found


def _solve(means: pd.Series, alpha: float, tied: str, weights: Mapping[int, float]) -> Law:
    D, C, left = {}, {}, 0.0
    for s, own in means.groupby(level="s"):
        sources = list(dict.fromkeys(own.index.get_level_values("source")))
        which = np.array([sources.index(name) for name in own.index.get_level_values("source")])
        falls = (own.index.get_level_values("n").to_numpy(np.float64) / UNIT) ** -alpha
        member = np.eye(len(sources))[which]
        parts = {"D": member * falls[:, None], "C": member}
        design = [part.sum(axis=1, keepdims=True) if tied == name else part for name, part in parts.items()]
        solution, norm = nnls(np.hstack(design), own.to_numpy())
        left += (norm * weights[int(s)]) ** 2
        of_d, of_c = np.split(solution, [design[0].shape[1]])
        for k, name in enumerate(sources):
            D[name, int(s)], C[name, int(s)] = of_d[k % len(of_d)], of_c[k % len(of_c)]
    return Law(alpha, left, pd.Series(D), pd.Series(C))


@dataclass(frozen=True)
class Tests:
    """Whether sources share alpha, D or C: the rise of chi2 when they must, its degrees of freedom and p."""

    alpha: tuple[float, int, float]
    D: tuple[float, int, float]
    C: tuple[float, int, float]


def equality(errors: pd.DataFrame) -> Tests:
    """Return tests of one alpha against one for each source, and of one D or C at each s against one for each."""
    weights, sources = weights_of(errors), errors.index.get_level_values("source")
    free = sum(fit(errors[sources == name], weights=weights).chi2 for name in set(sources))
    one, k, labels = fit(errors, weights=weights), len(set(sources)), len(weights)
    rises = {
        "alpha": (one.chi2 - free, k - 1),
        **{tied: (fit(errors, tied=tied, weights=weights).chi2 - one.chi2, (k - 1) * labels) for tied in ("D", "C")},
    }
    return Tests(**{name: (rise, degrees, float(chi2.sf(rise, degrees))) for name, (rise, degrees) in rises.items()})


def jackknife(errors: pd.DataFrame) -> tuple[float, float, float]:
    """Return alpha with the ends of its 95 % t-interval by leaving out each seed, the effect of a draw of labels.

    Raises:
        DataError: There are fewer than three seeds, of which none can be left out.
    """
    if errors.shape[1] < 3:
        raise DataError(f"the runs have {errors.shape[1]} complete seeds; an interval of alpha takes three or more")
    whole, seeds = fit(errors).alpha, list(errors)
    parts = np.array([len(seeds) * whole - (len(seeds) - 1) * fit(errors.drop(columns=one)).alpha for one in seeds])
    found = t_interval(parts)
    assert found.interval is not None
    return whole, found.interval.low, found.interval.high


def held_out(errors: pd.DataFrame) -> pd.DataFrame:
    """Return root mean squares of log errors where a law was not fitted, by what is left out (columns) and law (rows).

    Left out are the largest n (fitted up to a quarter of it), and each s in turn.
    """
    means = errors.mean(axis=1)
    largest = means.index.get_level_values("n").max()
    seen = errors[errors.index.get_level_values("n") < largest]
    law = fit(seen)
    misses: dict[str, list[float]] = {name: [] for name in ("one alpha", "power law", "last value")}
    for (source, s), own in seen.mean(axis=1).groupby(level=["source", "s"]):
        n, y = own.index.get_level_values("n").to_numpy(np.float64), own.to_numpy()
        slope, start = np.polyfit(np.log(n), np.log(y), 1)
        predicted = (law.predict(source, s, largest), float(np.exp(start + slope * np.log(largest))), float(y[-1]))
        for name, value in zip(misses, predicted, strict=True):
            misses[name].append(np.log(value / means[source, s, largest]))
    table = {"n": {name: _rms(values) for name, values in misses.items()}, "s": _left_out_labels(errors)}
    return pd.DataFrame(table).loc[list(dict.fromkeys([*table["n"], *table["s"]]))]


def _left_out_labels(errors: pd.DataFrame) -> dict[str, float]:
    """At a left-out s, C and D by power laws in s of each source, and each n by a power law in s of its own."""
    means, misses = errors.mean(axis=1), {"one alpha": [], "power law": []}  # type: ignore[var-annotated]
    labels = sorted(set(means.index.get_level_values("s")))
    for left in labels:
        seen = errors[errors.index.get_level_values("s") != left]
        law, others = fit(seen), [s for s in labels if s != left]
        for source, own in means.groupby(level="source"):
            C, D = (_power(others, [part[source, s] for s in others], left) for part in (law.C, law.D))
            for n, value in own.xs(left, level="s").droplevel("source").items():
                at_n = [means[source, s, n] for s in others]
                misses["one alpha"].append(np.log((C + D * (n / UNIT) ** -law.alpha) / value))
                misses["power law"].append(np.log(_power(others, at_n, left) / value))
    return {name: _rms(values) for name, values in misses.items()}


def _power(x: Sequence[float], y: Sequence[float], at: float) -> float:
    """Return a power law through positive values at another x; 0 where fewer than two are positive."""
    known = [(a, b) for a, b in zip(x, y, strict=True) if b > 0]
    if len(known) < 2:
        return 0.0
    slope, start = np.polyfit(*np.log(known).T, 1)
    return float(np.exp(start + slope * np.log(at)))


def _rms(values: Sequence[float] | Float[np.ndarray, " k"]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def digits() -> pd.DataFrame:
    """Return the errors after ten digits, the target's own classes, at the same width: rows (s, n), columns seeds."""
    runs = csv_of("glyph-law-others.csv", {"target", "network", "source", "s", "n", "seed", "error"})
    own = runs[(runs["target"] == "mnist") & (runs["network"] == "8x16x32x32") & (runs["source"] == "plain")]
    return own.pivot_table(index=["s", "n"], columns="seed", values="error")


def classes_of(source: str) -> int:
    """Return K of a source."""
    return int(source.rpartition("-")[2])


def draw(path: Path) -> None:
    """Draw means and standard errors over seeds with the law, a panel for each target and s; grey: from scratch."""
    errors = {target: errors_of(study=study) for target, study in STUDIES.items()}
    sources = sorted(set(errors["MNIST"].index.get_level_values("source")), key=classes_of)
    styles = mark_styles([f"{classes_of(one)} classes" for one in sources], None)
    panels = [(target, s) for target, own in errors.items() for s in sorted(set(own.index.get_level_values("s")))]
    laws = {target: fit(own) for target, own in errors.items()}
    with drawing():
        canvas, axes = new_panels(len(panels))
        for drawn, (target, s) in zip(axes, panels, strict=True):
            for place, (source, style) in enumerate(zip(sources, styles.values(), strict=True)):
                runs = errors[target].loc[source, s]
                own, beside = runs.mean(axis=1), runs.index * 1.08 ** (place - 1.5)  # bars do not cover each other
                line = np.geomspace(own.index.min(), own.index.max(), 50)
                bars = {"elinewidth": 0.8, "markersize": 4, "color": style.colour}
                drawn.errorbar(beside, own, runs.sem(axis=1), fmt=style.mark, **bars)
                predicted = [laws[target].predict(source, s, n) for n in line]
                drawn.plot(line, predicted, color=style.colour, linewidth=1.1)
            alone = errors_of("scratch", study=STUDIES[target]).xs(s, level="s").mean(axis=1)
            drawn.axhline(alone.iloc[0], color="0.5", linestyle="--", linewidth=1)
            drawn.set_title(f"{target}, {s} labels")
            log_axes(drawn, x_title="Pretraining images n", y_title="Target error")
        add_legend(canvas, styles, title="Source (bars: standard error over seeds; dashed: from scratch)")
        canvas.savefig(path, dpi=110)


def tables(target: str, method: str) -> list[str]:
    """Return the tables of docs/results/glyph-law.md of one target and method."""
    errors, scratch = (errors_of(one, study=STUDIES[target]) for one in (method, "scratch"))
    own_classes = digits() if (target, method) == ("MNIST", "fine-tune") else digits().iloc[:0]
    means, law = 100 * errors.mean(axis=1), fit(errors)
    sizes = sorted(set(errors.index.get_level_values("n")))
    sources = sorted(set(errors.index.get_level_values("source")), key=classes_of)
    lines = [
        f"| labels, source | from scratch | {' | '.join(f'{n:,}' for n in sizes)} | C | D |",
        "|---" * (len(sizes) + 4) + "|",
    ]
    for s in sorted(set(errors.index.get_level_values("s"))):
        alone = f"{100 * scratch.xs(s, level='s').mean(axis=1).iloc[0]:.1f}"
        for source in sources:
            shown = " | ".join(f"{means[source, s, n]:.1f}" for n in sizes)
            ends = f"{100 * law.C[source, s]:.1f} | {100 * law.D[source, s]:.1f}"
            lines.append(f"| {s:,} labels, {classes_of(source)} classes | {alone} | {shown} | {ends} |")
        if s in own_classes.index.get_level_values("s"):
            shown = " | ".join(f"{100 * own_classes.loc[(s, n)].mean():.1f}" for n in sizes)
            lines.append(f"| {s} labels, ten digits | {alone} | {shown} | | |")
    alpha, low, high = jackknife(errors)
    lines += [
        "",
        f"alpha {alpha:.3f} ({low:.3f} to {high:.3f}), chi2 {law.chi2:.1f} on {len(errors) - 2 * len(law.C) - 1}",
    ]
    lines += [
        f"{name}: chi2 {rise:.1f} on {degrees}, p {p:.2g}"
        for name, (rise, degrees, p) in vars(equality(errors)).items()
    ]
    return [*lines, "", held_out(errors).to_string(float_format="{:.3f}".format)]


if __name__ == "__main__":
    draw(RUNS.parents[1] / "img" / "glyph-disjoint.png")
    for target, method in product(STUDIES, ("fine-tune", "linear-probe")):
        print("\n".join([f"{method} to {target}", *tables(target, method), ""]))
