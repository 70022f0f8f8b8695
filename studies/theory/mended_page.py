"""docs/results/mended.md: what pages on the five papers said beyond their numbers, and what is said now.

    python studies/theory/mended_page.py        # after papers_page.py

The sentences of then are data (mended.toml). Verdicts of now are those of papers.md; sentences of other pages are
judged here, of the same runs.
"""

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import disjoint_law
import numpy as np
import pandas as pd
from papers_page import judged_rows
from stored import csv_of, write_page
from verdicts import Verdict, share

from transferscope.scaling import fit_law
from transferscope.scaling.laws import SURFACE_LAWS
from transferscope_papers.catalogue import PAPERS

FALLING = ("plain", "several", "light", "background", "texture", "all")
INTRODUCTION = """# Corrected sentences

An audit of the pages on the [five papers](papers.md) found sentences that said more than their numbers: a premise that
was not tested, a departure from the paper's protocol that was not listed, a mechanism without the arm that would refute
it, runs in the same folder that say the reverse. Each is here with what was wrong and with what is said now, by a
predicate on its runs where there are some. This page is written by `python studies/theory/mended_page.py`; a test
computes every number of the rows with runs again.

| | it said | then | what was wrong | now | numbers | runs |
|---|---|---|---|---|---|---|"""


def glyph_errors() -> pd.DataFrame:
    """Return the errors of `glyph-law.csv`: rows (source, s, n), columns seeds."""
    runs = csv_of("glyph-law.csv", {"source", "s", "n", "seed", "error"})
    return runs.pivot_table(index=["source", "s", "n"], columns="seed", values="error")


def glyph_alpha() -> Verdict:
    """One alpha holds for the six sources that fall, at all s."""
    errors = glyph_errors().loc[list(FALLING)]
    alpha, low, high = disjoint_law.jackknife(errors)
    rise, degrees, p = disjoint_law.equality(errors).alpha
    return Verdict(
        "corrected",
        f"one α for six sources and seven s: {share(alpha)} ({share(low)} to {share(high)}), the seed as a random "
        f"effect; equal over sources: χ² {rise:.1f} on {degrees}, p {share(p)}",
    )


def glyph_held_out() -> Verdict:
    """Which law in n and s predicts the largest n from the others."""
    means = glyph_errors().loc["plain"].mean(axis=1).reset_index(name="error")
    left, missed = means["n"] == means["n"].max(), {}
    for name in ("full", "full+floor", "effective-data"):
        known = means[~left & (means["n"] > 0)]
        fit = fit_law(known[["n", "s"]].to_numpy(float), known["error"], law=SURFACE_LAWS[name], loss="log")
        beyond = fit.predict(means.loc[left, ["n", "s"]].to_numpy(float))
        missed[name] = float(np.sqrt(np.mean(np.log(beyond / means.loc[left, "error"]) ** 2)))
    return Verdict(
        "corrected",
        f"root mean square of the log error at the largest n, left out: effective data {missed['effective-data']:.3f}, "
        f"law (2) {missed['full']:.3f}, with a floor {missed['full+floor']:.3f}",
    )


def glyph_worth() -> Verdict:
    """How many labels from scratch do as well as the largest pre-training, at each s."""
    errors = glyph_errors()
    scratch, tuned = (errors.loc[source].xs(n, level="n").mean(axis=1) for source, n in (("", 0), ("plain", 65536)))
    s, e = (np.log(values) for values in (scratch.index.to_numpy(float), scratch.to_numpy()))
    within = tuned[tuned >= scratch.iloc[-1]]  # beyond, no number of labels that was tried from scratch does as well
    worth = np.exp(np.interp(-np.log(within.to_numpy()), -e, s)) - within.index.to_numpy(float)
    return Verdict(
        "corrected",
        f"65,536 digits are worth {', '.join(f'{one:.0f}' for one in worth)} labels at s = "
        f"{', '.join(f'{labels:,}' for labels in within.index)}; with more, no number that was tried from scratch (up "
        f"to {scratch.index[-1]:,}) does as well",
    )


COMPUTED: Mapping[str, Callable[[], Verdict]] = {
    one.__name__: one for one in (glyph_alpha, glyph_held_out, glyph_worth)
}


def page() -> str:
    """Return the page."""
    now = {f"{row['paper']} {row['item']}": row for row in judged_rows()}
    titles = {paper: known.title.partition(",")[0] for paper, known in PAPERS.items()}
    lines = [INTRODUCTION]
    for row in tomllib.loads(Path(__file__).with_name("mended.toml").read_text(encoding="utf-8"))["rows"]:
        if "computed" in row:
            found = COMPUTED[row["computed"]]()
            own = {
                "verdict": found.word,
                "ours": found.ours,
                "why": found.why,
                "runs": row["runs"],
                "page": row["page"],
            }
            title = row["row"]
        else:
            own = now[row["row"]]
            title = f"{titles[str(own['paper'])]}: {own['item']}"
        runs = f"[{own['runs']}](runs/{own['runs']})" if own["runs"] else ""
        word = ": ".join(filter(None, (f"**{own['verdict']}**", str(own["why"]))))
        cells = (f"[{title}]({own['page']})", row["said"], row["was"], row["wrong"], word, own["ours"], runs)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    write_page("mended.md", page)
