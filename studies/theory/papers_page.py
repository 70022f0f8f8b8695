"""docs/results/papers.md: every table, figure, theorem and algorithm of the five papers, and what came of it here.

    python studies/theory/papers_page.py        # after studies.theory.claims

What rests on stored runs is judged by the predicates of verdicts.py, what rests on a figure by those of its claims that
docs/results/runs/papers-claims.csv has. Rows stand in papers.csv beside this file: `figure` is a name of `papers draw`,
`claims` a pattern of the sources of those of its claims that the row is about, `runs` a file in docs/results/runs.
"""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from stored import csv_of, write_page
from verdicts import VERDICTS, word_of_claims

from transferscope_papers.catalogue import PAPERS

RESULTS, ROWS = Path(__file__).parents[2] / "docs" / "results", Path(__file__).with_name("papers.csv")
INTRODUCTION = """# Five papers, item by item

*Claims* are what the paper says of a figure, checked on what is drawn, as hold / all. Every one stands with its verdict
in [runs/papers-claims.csv](runs/papers-claims.csv), made at the quick profile by `python -m studies.theory.claims`
(under 30 s of CPU each). Figures of Mikami et al. take `--table syn2real_finetune.csv`. This page is written
by `python studies/theory/papers_page.py`.

Every verdict is a function (`studies/theory/verdicts.py`): of a CSV of runs, or of the claims of a figure. Of runs,
*reproduced*: the claimed order, beyond intervals that hold at once, and the published numbers; *order only*: the order,
with another network, data or protocol; *inconclusive*: the order in the means alone; *not tested*: a premise of the
claim is not met, which is named. Of a figure, *reproduced*: every claim holds; *in part*: some do; *not
reproduced*: none, or not one that the others rest on; *corrected*: what is printed does not hold, and its correction
does ([errata](../theory/errata.md)).
"""


def claims_of(row: Mapping[str, str]) -> pd.DataFrame:
    """Return the claims of a row's figure that it is about."""
    found = csv_of("papers-claims.csv", {"figure", "what", "source", "verdict", "text", "seen"})
    found = found[(found["what"] == "claim") & (found["figure"] == f"{row['paper']}-{row['figure']}")]
    return found[found["source"].str.contains(row["claims"])]


def judged_rows() -> list[dict[str, str]]:
    """Return the rows of papers.csv with their verdicts, and the numbers that are computed."""
    rows: list[dict[str, str]] = pd.read_csv(ROWS, keep_default_na=False).to_dict("records")
    for row in rows:
        if judge := VERDICTS.get((row["paper"], row["item"])):
            found = judge()
            row |= {"ours": found.ours, "verdict": found.word, "why": found.why}
        elif row["figure"]:
            row["verdict"] = word_of_claims(claims_of(row))
    return rows


def page() -> str:
    """The page."""
    rows, lines = judged_rows(), [INTRODUCTION]
    for paper, known in PAPERS.items():
        lines += [f"## {known.title}", "", "| | published | ours | verdict | claims | page | command, runs |"]
        lines += ["|---|---|---|---|---|---|---|"]
        for row in (one for one in rows if one["paper"] == paper):
            own = claims_of(row)
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
    write_page("papers.md", page)
