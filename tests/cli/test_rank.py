"""`transferscope rank` as a reader meets it."""

import re
import sys
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from cli.called import output
from studies import write_npz
from transferscope.cli import main
from transferscope.errors import NetworkError, SettingsError
from transferscope.models import NetworkSettings, build_network, save_weights

run = partial(output, "rank")


def files(folder: Path) -> list[str]:
    write_npz(folder / "target.npz", rows=(100, 60))
    for seed, name in enumerate(("first", "second")):
        save_weights(build_network(NetworkSettings("mlp", (8,)), (4,), 3, seed=seed), folder / f"{name}.safetensors")
    return [str(folder / "first.safetensors"), str(folder / "second.safetensors")]


def test_files_are_ranked_with_words_figure_and_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = files(tmp_path)
    out, target = tmp_path / "out", f"npz:{tmp_path}/target.npz"
    typed = f"rank {target} --from {first} {second} --network mlp --set network.widths=8 --labels 30 --seeds 2 "
    monkeypatch.setattr(sys, "argv", ["transferscope", *typed.split(), "--scores", "knn", "leep", "--out", str(out)])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 0
    said = capsys.readouterr().out
    lines = said.splitlines()
    assert lines[0].startswith("With 30 labels")
    named = {line.split("  ")[0] for line in lines[3:6]}
    assert named == {"first.safetensors", "second.safetensors", "random features"}
    assert "Test examples are not used" in said
    assert re.search(rf"written: {out}/.*-ranking.html, ranking.svg, ranking.pdf, ranking.csv", said)
    table = pd.read_csv(out / "ranking.csv")
    assert len(table) == 2 * 3
    assert set(table["candidate"]) == {"first.safetensors", "second.safetensors", "random features"}


def test_a_target_without_networks_is_one_sentence() -> None:
    with pytest.raises(
        SettingsError,
        match=r"^'usps' is not a study, and there are no networks to rank.*transferscope rank usps --from a",
    ):
        run("usps")


def test_the_transform_that_too_small_images_need_is_one_that_the_command_takes(tmp_path: Path) -> None:
    weights = tmp_path / "lenet.safetensors"
    save_weights(build_network(NetworkSettings("lenet"), (1, 28, 28), 3, seed=0), weights)
    asked = ("digits", "--from", weights, "--labels", 20, "--seeds", 1, "--scores", "knn")
    with pytest.raises(NetworkError) as refused:
        run(*asked)
    (option,) = re.findall(r"rank.*?: (--transforms [\w:]+)", str(refused.value))
    assert "lenet.safetensors" in run(*asked, *option.split())
