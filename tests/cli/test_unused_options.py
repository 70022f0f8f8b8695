"""An option that is given is used or refused: every option of every command that reads more than one kind of thing."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from cli.called import commands
from scaling.examples import OBJDET, SIZES, language_models
from transferscope.cli.main import app
from transferscope.errors import SettingsError, TransferscopeError

ALWAYS = {"--json", "--out", "--quiet", "--help", "--set"}

FILES = {"--from", "--transforms", "--network", "--labels", "--seeds", "--scores"}
OF_RUNS = {"--without", "--columns", "--where", "--metric", "--wide", "--better", "--predictions", "--planned"}
RUNNER = {"--workers", "--device"}

MISTAKES = {
    "rank usps --from a.safetensors --labels 0 --seeds 0": ("--labels", "--seeds"),
    "diagnose net.pt --data usps --labels 0 --seed -1": ("--labels", "--seed"),
    "diagnose net.pt --data usps --set examples=0 part=x": ("examples", "part"),
    "plan labels.csv --set margin=-2 classes=1 cost_label=-1": ("margin", "classes", "cost_label"),
    "scaling n.csv --set cost_run=-1 loss=x target_score=many": ("cost_run", "loss", "target_score"),
    "scaling n.csv --budget 0 --target-score 1e300 --set largest_size=0": (
        "--budget",
        "largest_size",
        "--target-score",
    ),
}
"""Command lines with values that no option or setting can have."""

USED: dict[str, set[str]] = {
    "rank x --from a.safetensors": FILES,
    "rank s.toml": {"--scores", "--study", "--from"},
    "scaling n.csv": {"--columns", "--by", "--repeats", "--better", "--target-score", "--budget", "--at"},
    "scaling s.toml": {"--by", "--study", "--target-score", "--budget", "--at"},
    "plan labels.csv": {"--target-score", "--margin", "--columns", "--better", "--without", "--where"},
    "plan s.toml": {"--target-score", "--margin", "--study"},
    "diagnose s.toml": {"--diagnostics", "--labels", "--study"},
    "show": set(),
    "show digits": {"--fetch"},
    "show lenet": {"--shape", "--weights"},
    "run s.toml": {*RUNNER, "--seeds", "--labels", "--store", "--retry-failed", "--network-disk"}
    | {"--join", "--slurm", "--local"},
    "run s.toml --join": {*RUNNER, "--study", "--runs", "--minutes", "--store", "--network-disk"},
    "run s.toml --slurm 1": {*RUNNER, "--local", "--join", "--seeds", "--labels"},
    "report s.toml": {"--table", "--watch", "--width", "--study"},
    "report s.toml --table csv": {"--study"},
    "report n.csv": {*OF_RUNS, "--table", "--next", "--width"},
    "report n.csv --next 2": {*OF_RUNS, "--table"},
}
"""What a command uses of its options, by how it is called."""

SET: dict[str, str] = {
    "rank x --from a.safetensors": "method=fine-tune",
    "rank s.toml": "labels=5",
    "diagnose net.pt --data usps": "source.transforms=grey",
    "show": "widths=5",
    "show digits": "widths=5",
    "run s.toml": "job.gpus=1",
    "run s.toml --join": "training.lr=1",
    "run s.toml --local 1": "job.memory=1",
    "report s.toml": "unit=share",
}
"""A setting that a command does not use, by how it is called."""

VALUES = {
    "--where": "a=b",
    "--wide": "arms",
    "--network": "mlp",
    "--width": "column",
    "--better": "lower",
    "--columns": "labels=m",
    "--without": "a",
    "--table": "csv",
}


def _unused() -> Iterator[Any]:
    known = commands()
    for call, setting in SET.items():
        yield pytest.param([*call.split(), "--set", setting], id=f"{call} {setting}")
    for call, used in USED.items():
        arguments = call.split()
        params = [one for one in known[arguments[0]].params if one.param_type_name == "option"]
        options = {option for one in params for option in one.opts}
        assert used <= options, f"{call}: {used - options} is no option"
        for one in params:
            if not one.hidden and not {*one.opts} & (used | ALWAYS | {*arguments}):
                given: list[list[str]] = (
                    [[]] if one.is_flag else [[value] for value in VALUES.get(one.opts[0], "5").split()]
                )
                words = [word for value in given for word in (one.opts[0], *value)]
                yield pytest.param([*arguments, *words], id=f"{call} {one.opts[0]}")


@pytest.mark.parametrize("arguments", [*_unused()])
def test_an_option_that_is_not_used_is_refused(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("n.csv", "labels.csv"):
        Path(name).write_text("n,error\n1,2\n")
    found = CliRunner().invoke(app, arguments).exception
    assert isinstance(found, SettingsError), found
    assert "was given too; leave it out" in str(found)


def test_an_option_of_one_value_is_given_once() -> None:
    """Of two values the first would be lost, as in `compare x --steps 50 100`."""
    for arguments in (
        ["compare", "x", "--from", "y", "--steps", "50", "--steps", "100"],
        ["show", "mlp", "--shape", "1", "--shape=2"],
    ):
        found = CliRunner().invoke(app, arguments).exception
        assert isinstance(found, SettingsError)
        assert "is given twice; give it once" in str(found)


OVER_N = {"cost_pretrain": "1", "cost_run": "1e6", "target_score": "0.8"}
OVER_BOTH = {"cost_pretrain": "1", "cost_label": "1", "target_score": "2.1"}
CHANGES = [
    *((OVER_N, one) for one in [("target_score", "0.7"), ("largest_size", "7e4"), ("cost_pretrain", "1e3")]),
    *((OVER_N, one) for one in [("cost_run", "1"), ("budget", "1.07e6"), ("loss", "huber"), ("cost_label", "1")]),
    *((OVER_BOTH, one) for one in [("largest_size", "1.7e10"), ("cost_pretrain", "90"), ("cost_label", "90")]),
    *((OVER_BOTH, one) for one in [("cost_run", "1e9"), ("budget", "1e12"), ("target_score", "2.3")]),
    *(({}, one) for one in [("target_score", "2.1"), ("largest_size", "1e12"), ("cost_pretrain", "2")]),
    *(({}, one) for one in [("cost_label", "3"), ("cost_run", "2"), ("budget", "1e12"), ("loss", "log")]),
]


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """What `scaling` says with options, asked once: of one axis where they are those of `OVER_N`, else of two."""
    folder = tmp_path_factory.mktemp("tables")
    pd.DataFrame({"n": SIZES, "error": OBJDET}).to_csv(folder / "n.csv", index=False)
    language_models().to_csv(folder / "both.csv", index=False)

    @cache
    def said(name: str, *settings: str) -> str:
        words = [word for setting in settings for word in ("--set", setting)]
        found = CliRunner().invoke(app, ["scaling", str(folder / name), *words, "--json"])
        assert found.exception is None or isinstance(found.exception, TransferscopeError), found.exception
        return f"{found.exception}{found.stdout}"

    return said


@pytest.mark.long
@pytest.mark.parametrize(("options", "change"), CHANGES)
def test_what_is_asked_of_a_table_is_answered_or_refused(
    options: dict[str, str], change: tuple[str, str], document: Callable[..., str]
) -> None:
    """Its document is another one with the option, or it is a sentence."""
    name = "n.csv" if options is OVER_N else "both.csv"
    changed = {**options, **dict([change])}
    asked = [[f"{key}={value}" for key, value in one.items()] for one in (changed, options)]
    assert document(name, *asked[0]) != document(name, *asked[1])


@pytest.mark.parametrize("line", MISTAKES)
def test_all_mistakes_of_a_command_line_are_named_at_once(line: str) -> None:
    result = CliRunner().invoke(app, line.split(), standalone_mode=False)
    assert isinstance(result.exception, typer.BadParameter | SettingsError)
    said = getattr(result.exception, "format_message", result.exception.__str__)()
    assert all(said.count(option) == 1 for option in MISTAKES[line])
