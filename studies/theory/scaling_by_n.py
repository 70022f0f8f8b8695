"""Figure 2b of Shachaf et al. (2021) at every sample size: docs/results/runs/shachaf-fig2b.csv.

    python studies/theory/scaling_by_n.py docs/results/runs/shachaf-fig2b.csv

The paper gives n = d/10 for its panel (a) and no n for (b). A row for each n / d, teacher that is scaled and factor:
the risk of seven layers after fine-tuning (Theorem 5.2, averaged over 20,000 draws of the examples), with d and the
distance of the teachers as in the full figure. The predicate is `shachaf_figure_2b` in verdicts.py.
"""

import math
import sys

import pandas as pd

from transferscope_papers.catalogue import FIGURES
from transferscope_papers.theory.fine_tuning import fine_tuning_average

SHARES, FACTORS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.8), (2.0, 3.5)
SCALED = {"source": "source_norm", "target": "target_norm"}


def main() -> None:
    """Write the risks."""
    full = FIGURES["shachaf2021-fig2b"].settings
    theta, d, rows = 2 * math.asin(full["apart"] / 2), int(full["d"]), []
    for share in SHARES:
        for scaled, norm in SCALED.items():
            for factor in FACTORS:
                risk = fine_tuning_average(theta, round(share * d), d, depth=full["depth"], **{norm: factor}).risk
                rows.append({"share": share, "scaled": scaled, "factor": factor, "risk": risk.value})
    pd.DataFrame(rows).to_csv(sys.argv[1], index=False, float_format="%.6g", lineterminator="\n")


if __name__ == "__main__":
    main()
