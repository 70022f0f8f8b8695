"""docs/results/papers.md: every table, figure, theorem and algorithm of the five papers, and what came of it here.

    python studies/theory/papers_page.py        # after studies.theory.claims

How many claims of a figure hold is counted in docs/results/runs/papers-claims.csv. What rests on stored runs is judged
by the predicates of verdicts.py; the rest stands in papers.csv beside this file: `figure` is a name of `papers draw`,
`runs` a file in docs/results/runs.
"""

from pathlib import Path

import pandas as pd
from verdicts import VERDICTS, WORDS

from transferscope_papers.catalogue import PAPERS

RESULTS, ROWS = Path(__file__).parents[2] / "docs" / "results", Path(__file__).with_name("papers.csv")
ALL_WORDS = (*WORDS, "corrected", "cannot be done here")
INTRODUCTION = """# Five papers, item by item

*Claims* are what the paper says of a figure, checked on what is drawn, as hold / all. Every one stands with its verdict
in [runs/papers-claims.csv](runs/papers-claims.csv), made at the quick profile by `python -m studies.theory.claims`
(under 30 s of CPU each). Figures of Mikami et al. take `--table syn2real_finetune.csv`. This page is written
by `python studies/theory/papers_page.py`.

Rows that rest on stored runs are judged by machine, each by a function of its CSV (`studies/theory/verdicts.py`).
*Reproduced*: the claimed order, beyond intervals that hold at once, and the published numbers. *Order only*: the order,
with another network, data or protocol. *Inconclusive*: the order in the means alone. *Not tested*: a premise of the
claim is not met, which is named.
"""


def judged_rows() -> list[dict[str, str]]:
    """Return the rows of papers.csv, with the verdicts and numbers that are computed."""
    rows: list[dict[str, str]] = pd.read_csv(ROWS, keep_default_na=False).to_dict("records")
    for row in rows:
        if judge := VERDICTS.get((row["paper"], row["item"])):
            found = judge()
            row |= {"ours": found.ours, "verdict": found.word, "why": found.why}
    return rows


def page() -> str:
    """The page."""
    rows, claims = judged_rows(), pd.read_csv(RESULTS / "runs" / "papers-claims.csv", keep_default_na=False)
    claims = claims[claims["what"] == "claim"]
    lines = [INTRODUCTION]
    for paper, known in PAPERS.items():
        lines += [f"## {known.title}", "", "| | published | ours | verdict | claims | page | command, runs |"]
        lines += ["|---|---|---|---|---|---|---|"]
        for row in (one for one in rows if one["paper"] == paper):
            own = claims[claims["figure"] == f"{paper}-{row['figure']}"]
            runs = f"[{row['runs']}](runs/{row['runs']})" if row["runs"] else ""
            cells = (
                *(row[name] for name in ("item", "published", "ours")),
                ": ".join(filter(None, (f"**{row['verdict']}**", row["why"]))),
                f"{(own['verdict'] == 'holds').sum()} / {len(own)}" if len(own) else "",
                f"[{Path(row['page']).stem}]({row['page']})",
                "; ".join(filter(None, (f"`papers draw {paper} {row['figure']}`" if row["figure"] else "", runs))),
            )
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    (RESULTS / "papers.md").write_text(page(), encoding="utf-8")
