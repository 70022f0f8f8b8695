"""`transferscope rank` as a reader meets it."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from analyses.small_study import classification
from remembered import REMEMBERED
from transferscope.analyses.compare.study_page import build_report
from transferscope.cli import main
from transferscope.errors import SettingsError, StoreError
from transferscope.models import NetworkSettings, build_network, save_weights
from transferscope.store import Store
from transferscope.study.run import run_study
from transferscope.study.spec import parse_spec


def run(*arguments: str) -> str:
    result = CliRunner().invoke(main.app, ["rank", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def files(folder: Path) -> list[str]:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(160, 4)), np.arange(160) % 3
    x[:, 0] += 3 * y
    np.savez(folder / "target.npz", x_train=x[:100], y_train=y[:100], x_test=x[100:], y_test=y[100:])
    for seed, name in enumerate(("first", "second")):
        save_weights(build_network(NetworkSettings("mlp", (8,)), (4,), 3, seed=seed), folder / f"{name}.safetensors")
    return [str(folder / "first.safetensors"), str(folder / "second.safetensors")]


def test_files_are_ranked_with_words_figure_and_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = files(tmp_path)
    out, target = tmp_path / "out", f"npz:{tmp_path}/target.npz"
    typed = f"rank {target} --from {first} {second} --network mlp --widths 8 --labels 30 --seeds 2 "
    monkeypatch.setattr(sys, "argv", ["transferscope", *typed.split(), "--scores", "knn", "leep", "--out", str(out)])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 0
    said = capsys.readouterr().out
    lines = said.splitlines()
    assert lines[0].startswith("With 30 labels ")
    named = {line.split("  ")[0] for line in lines[3:6]}
    assert named == {"first.safetensors", "second.safetensors", "random features"}
    assert "No test example was read" in said
    assert re.search(rf"written: {out}/.*-ranking.html, ranking.svg, ranking.pdf, ranking.csv", said)
    table = pd.read_csv(out / "ranking.csv")
    assert len(table) == 2 * 3
    assert set(table["candidate"]) == {"first.safetensors", "second.safetensors", "random features"}


@pytest.mark.long
def test_a_study_is_ranked_and_its_report_shows_it(tmp_path: Path) -> None:
    study = classification(tmp_path, store=str(tmp_path / "small.sqlite"))
    place = study["store"]
    with Store.open(place) as store:
        run_study(parse_spec(study), store, work=REMEMBERED)
    answer = json.loads(run(place, "--scores", "h-score", "--json"))["result"]
    assert answer["analysis"] == "rank"
    chances = [row["chance"] for row in answer["networks"] if row["n_target"] == 12]
    assert chances == sorted(chances, reverse=True)
    assert sum(chances) == pytest.approx(1)
    said = run(place, "--scores", "h-score", "--scores", "ridge-probe", "--out", str(tmp_path / "out"))
    assert said.endswith(f"The report shows this now: transferscope report {place}\n")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "small-ranking.html",
        *(f"small-ranking-12.{ending}" for ending in ("svg", "pdf", "csv")),
        *(f"small-ranking-{name}.csv" for name in ("networks", "scores", "transfer", "choices")),
    }
    with Store.open(place) as store:
        page = build_report(store, "small", tmp_path / "report.html").html.read_text(encoding="utf-8")
    assert "What to transfer from" in page
    assert "ridge-probe" in page
    _with_another(place)
    with pytest.raises(StoreError, match=r"small\.sqlite holds 2 studies \(small, other\); choose one with --study$"):
        run(place)


def _with_another(place: str) -> None:
    with Store.open(place) as store:
        first = store.study("small")
        store.plan(type(first)("other", first.spec, first.facts, first.created), [])


def test_mistakes_are_one_sentence() -> None:
    with pytest.raises(
        SettingsError, match=r"^rank was given 'usps' and no networks.*transferscope rank usps --from a"
    ):
        run("usps")
    with pytest.raises(SettingsError, match=r"^networks are rated without a study, and --method was given too; leave"):
        run("usps", "--from", "a.pt", "--method", "fine-tune")
    with pytest.raises(
        SettingsError, match=r"^a study says which networks, labels and seeds to use, and --network was"
    ):
        run("x.toml", "--network", "mlp")
