"""A diagnostic of another package or file: measured from files, in a study and on its page, in its own words."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file

from cli.diagnosed_files import MLP, write_network
from studies import tables, write_npz
from transferscope.analyses.diagnose import diagnose, study_part
from transferscope.diagnostics import DIAGNOSTICS
from transferscope.report.blocks import Folded, Points, Text
from transferscope.store import Store
from transferscope.study.frames import read_study
from transferscope.study.run import run_study
from transferscope.study.spec import parse_spec

OUTSIDE = f"{Path(__file__).parents[3] / 'examples' / 'diagnostic.py'}:StableRank"


def test_it_is_measured_on_a_network_from_a_file(tmp_path: Path) -> None:
    network, data = write_network(tmp_path / "net.safetensors"), write_npz(tmp_path / "data.npz", classes=2)
    result = diagnose(network, data, network=MLP, diagnostics=[OUTSIDE], device="cpu")
    weights = {name: w.double().numpy() for name, w in load_file(network).items() if w.ndim > 1}
    expected = {name: (w**2).sum() / np.linalg.norm(w, 2) ** 2 for name, w in weights.items()}
    found = result.table().set_index("name")["value"]
    assert {name: found[f"stable_rank/{name}"] for name in expected} == pytest.approx(expected)
    assert found["stable_rank"] == pytest.approx(np.mean(list(expected.values())))
    (row,) = result.shown_tables()[0].rows
    assert [cell.text for cell in row] == ["Stable rank of the weights", f"{found['stable_rank']:.3g}", "–"]
    assert any("It sees each layer alone" in block.text for block in result.answer() if isinstance(block, Text))


def test_a_study_measures_it_and_its_page_says_it_in_its_words(tmp_path: Path) -> None:
    study = tables(
        tmp_path,
        store=f"{tmp_path}/small.sqlite",
        engine={"workers": 0, "device": "cpu"},
        methods={"scratch": {}, "fine-tune": {}},
        diagnostics={"rank": {"diagnostic": OUTSIDE}},
    )
    with Store.open(tmp_path / "small.sqlite") as store:
        run_study(parse_spec(study), store)
        part = study_part(read_study(store, "small"))
    (fold,) = [block for block in part.sections[0].blocks if isinstance(block, Folded)]
    (points,) = fold.blocks
    assert isinstance(points, Points)
    assert points.sentences == (
        "Stable rank of the weights: It sees each layer alone, and not what the layers compute together.",
    )
    assert DIAGNOSTICS[OUTSIDE].name == "stable-rank"
