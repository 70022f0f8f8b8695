"""Figures 8c and 8d of liu2019: test accuracy along fine-tuning from sources that are more and less like the target."""

from itertools import pairwise

import numpy as np
import pandas as pd

from transferscope.errors import DataError
from transferscope.report.blocks import Figure
from transferscope.report.figures.style import drawing, new_figure
from transferscope_papers.draw import COLOURS
from transferscope_papers.from_study import FinishedStudy, paired
from transferscope_papers.made import FigureMade, measured_claim

_SCRATCH = "from scratch"


def figure_8cd(study: FinishedStudy) -> FigureMade:
    """Curves of a study that fine-tunes from several sources, which its file names from the nearest to the farthest.

    Raises:
        DataError: It fine-tunes from fewer than two sources, or has several numbers of labels.
    """
    tuned = study.methods("fine-tune")[:1]
    baseline = [study.frames.baseline] if study.frames.baseline else []
    rows = study.frames.curves("accuracy")
    rows = rows[rows["method"].isin([*tuned, *baseline])]
    sources = [source for source in study.frames.sources if source in set(rows["source"])]
    if len(sources) < 2:
        raise DataError(
            f"{study.name} has training curves of fine-tuning from {len(sources)} source{'s' * (len(sources) != 1)}; "
            "Figures 8c and 8d compare two or more"
        )
    study.one_size(rows)
    rows = rows.assign(source=rows["source"].replace("", _SCRATCH), value=100 * rows["value"])
    end = study.accuracies([*tuned, *baseline])
    end = end.assign(source=end["source"].replace("", _SCRATCH), value=100 * end["value"])
    means = end.groupby("source")["value"].agg(["mean", "std"])
    names = [*sources, _SCRATCH] if baseline else sources
    sentence = "; ".join(f"{name} {means['mean'][name]:.1f} ± {means['std'][name]:.1f} %" for name in names)
    claims = []
    for near, far in pairwise(sources):
        for what, table in (("ends with the higher accuracy", end), ("has the higher accuracy on average", rows)):
            where = "" if table is end else " over the steps of training, so it converges faster"
            differences = paired(table, table["source"] == near, table["source"] == far)
            claims.append(
                measured_claim(
                    f"fine-tuning from {near}, the nearer source, {what} than from {far}{where}",
                    "liu2019, section 5.1 with Figures 8c and 8d",
                    differences,
                    "points",
                )
            )
    return FigureMade((_draw(study, rows, names),), (f"final accuracy: {sentence} (± over seeds)",), tuple(claims))


def _draw(study: FinishedStudy, rows: pd.DataFrame, names: list[str]) -> Figure:
    table = rows.groupby(["source", "step"])["value"].agg(["mean", "min", "max", "count"]).reset_index()
    with drawing():
        canvas = new_figure(4.6, 3.2)
        axes = canvas.subplots()
        for colour, name in zip(COLOURS, names, strict=False):
            line = table[table["source"] == name]
            dashes = "--" if name == _SCRATCH else "-"
            axes.plot(line["step"], line["mean"], dashes, color=colour, linewidth=1.4, label=name)
            axes.fill_between(line["step"], line["min"], line["max"], color=colour, alpha=0.12, linewidth=0)
        axes.set_title("Fine-tuning from each source")
        axes.set_xlabel("steps on the target")
        axes.set_ylabel("test accuracy, %")
        axes.set_ylim(bottom=float(np.quantile(table["mean"], 0.1)) - 5)
        axes.legend(fontsize="small", loc="lower right")
    target = study.frames.study.spec["target"]["data"]
    caption = f"Test accuracy on {target} along training: mean over seeds, and the range over them as a band."
    return Figure(f"liu2019-fig8cd-{study.name}", canvas, table, caption)
