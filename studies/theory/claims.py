"""What every figure of the papers comes to at its quick profile: docs/results/runs/papers-claims.csv.

    TRANSFERSCOPE_DATA=FOLDER python -m studies.theory.claims ROWS.csv OUT.csv [FIGURE ...]

FOLDER holds mnist.npz, ROWS.csv is syn2real_finetune.csv of Mikami et al.'s repository. A row for each claim, and one
for the agreement of theory and simulation; with figures named, as in tahir2024-fig4, only theirs are made again.
Figures of studies are not among them: their pages have their runs.
"""

import sys
import time
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from transferscope_papers.catalogue import FIGURES, PAPERS, found_at
from transferscope_papers.figure import Simulated, TheoryFigure
from transferscope_papers.made import ClaimSeen
from transferscope_papers.mikami2021.rows import read_errors

VERDICTS = {True: "holds", False: "does not hold", None: "cannot be told"}


def computed(figure: TheoryFigure) -> Iterator[dict[str, object]]:
    """Of a figure that is computed and simulated, in this process."""
    started = time.process_time()
    points = [
        Simulated(point, estimate)
        for group in figure.groups()
        for point, estimate in zip(group, figure.simulate(group), strict=True)
    ]
    drawn = figure.drawn(points)
    checked = figure.check(drawn)
    seconds = round(time.process_time() - started)
    yield {"what": "agreement", "text": drawn.sentence.replace("\n", "; "), "seconds": seconds}
    yield from claimed(checked)


def claimed(claims: Iterable[ClaimSeen]) -> Iterator[dict[str, object]]:
    """A row for each claim."""
    for one in claims:
        seen = one.seen or ("" if one.holds else one.exception)
        verdict = VERDICTS[one.holds]
        yield {"what": "claim", "text": one.sentence, "source": one.source, "verdict": verdict, "seen": seen}


def main() -> None:
    """Make the rows of all figures, or of those that are named beside the others' as they are."""
    table, out, *named = sys.argv[1:]
    errors, rows = read_errors(Path(table)), []
    kept = pd.read_csv(out, keep_default_na=False) if named else pd.DataFrame({"figure": []})
    for paper, known in PAPERS.items():
        for name, listed in known.figures.items():
            full = f"{paper}-{name}"
            if listed.reads == "study":
                continue
            if named and full not in named:
                rows += kept[kept["figure"] == full].to_dict("records")
                continue
            reading = listed.reads == "table"
            made = (
                claimed(found_at(listed.place)(errors).claims)  # type: ignore[operator]
                if reading
                else computed(FIGURES[full].configured(quick=True, changes={}))
            )
            rows += [{"figure": full, "version": version("transferscope"), **row} for row in made]
            print(full, flush=True)
    columns = ["figure", "what", "text", "source", "verdict", "seen", "seconds", "version"]
    pd.DataFrame(rows, columns=columns).to_csv(out, index=False)


if __name__ == "__main__":
    main()
