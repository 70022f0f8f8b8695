"""The script behind docs/results/methods.md, on a study that is made up."""

from pathlib import Path

import pytest

from fabricate import fabricate
from papers.pages import module_of
from transferscope.analyses.compare.summary import summarise


def test_a_row_for_each_arm_with_its_level_and_what_it_is_over_scratch(tmp_path: Path) -> None:
    script = module_of("studies/methods_table.py")
    with fabricate(tmp_path / "usps.sqlite") as store:
        summary = summarise(store, "usps")
    heads, _, *rows = script.lines(summary)
    assert len(rows) == len(summary.frames.arms)
    assert {len(row.split("|")) for row in (heads, *rows)} == {len(heads.split("|"))}
    scores = script.runs(summary)
    few = scores[scores["n_target"] == 50].pivot(index="seed", columns=["source", "method"], values="accuracy") * 100
    tuned, scratch = few["mnist", "fine-tune"], few["", "scratch"]
    own = next(row for row in rows if row.startswith("| Fine-tuning from mnist |"))
    level, over = own.split("|")[2:4]
    assert level.strip() == f"{tuned.mean():.1f} ± {tuned.std():.1f}"
    assert float(over.split()[0]) == pytest.approx((tuned - scratch).mean(), abs=0.051)
