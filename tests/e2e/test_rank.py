"""Ranking of sources, from a study file to the page and from its networks as files: digits, tiny networks."""

from pathlib import Path

import pytest

from transferscope.analyses.compare.study_page import build_report
from transferscope.analyses.rank import rank
from transferscope.analyses.rank.ranking import RANDOM
from transferscope.analyses.rank.statements import WORDS, notes
from transferscope.models import NetworkSettings
from transferscope.report.page import typeset
from transferscope.store import Store
from transferscope.study.run import run_study
from transferscope.study.spec import parse_spec

SCORES = ("logme", "leep", "knn")
STUDY = {
    "name": "digits",
    "seeds": 1,
    "target": {"data": "digits", "labels": [100]},
    "sources": {
        "upside-down": {"data": "digits", "transforms": ["upside-down"]},
        "brightness": {"data": "digits", "transforms": ["relabel:brightness"]},
    },
    "network": {"name": "mlp", "widths": [32]},
    "pretraining": {"steps": 300, "lr": 0.1},
    "training": {"steps": 60, "lr": 0.1},
    "methods": {"scratch": {}, "fine-tune": {}},
    "engine": {"workers": 0, "device": "cpu"},
}


@pytest.mark.long
def test_digits_from_digits_that_stand_on_their_heads(tmp_path: Path) -> None:
    with Store.open(tmp_path / "digits.sqlite") as store:
        run_study(parse_spec(STUDY), store)
        found = rank(store.place, scores=SCORES, device="cpu").ranking
        page = build_report(store, "digits", tmp_path / "report.html").html.read_text(encoding="utf-8")
        networks = {
            str(cell.cell.labels["source"]): store.files / f"{cell.cell.key}.safetensors"
            for cell in store.cells("digits")
            if cell.cell.role == "pretrain"
        }
    (of_study,) = found.rankings
    assert of_study.candidates == ("upside-down", "brightness", RANDOM)
    assert all(one.n_cases == 1 for one in found.hindsight.choices)
    assert all(typeset(sentence) in page for sentence in WORDS.all_of(notes(found)))

    mlp = NetworkSettings("mlp", (32,))
    result = rank("digits", list(networks.values()), network=mlp, seeds=1, scores=SCORES, device="cpu")
    (of_files,) = result.ranking.rankings
    names = dict(zip((file.name for file in networks.values()), networks, strict=True)) | {RANDOM: RANDOM}
    for score, same in zip(of_files.scores, of_study.scores, strict=True):  # same networks, same examples, same draw
        for one in score.rated:
            assert one.score.value == pytest.approx(same.of(names[one.candidate]).score.value)
    # what tells classes apart by distance alone: strokes that stand on their heads are strokes, brightness is none
    neighbours = next(score for score in of_study.scores if score.score == "knn")
    behind = neighbours.of("brightness").behind
    assert neighbours.of("upside-down").place == 1
    assert behind.sign == 1
