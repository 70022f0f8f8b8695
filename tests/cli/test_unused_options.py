"""An option that is given is used or refused: every option of every command that reads more than one kind of thing."""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
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

ALWAYS = {"--json", "--out", "--quiet", "--help"}

ARCHITECTURE = {"--network", "--widths"}
FILES = {"--from", "--transforms", "--input", "--head", "--labels", "--seeds", "--scores", "--device"}
ASKED = {
    "--loss",
    "--target-score",
    "--largest-size",
    "--cost-pretrain",
    "--cost-label",
    "--cost-run",
    "--budget",
    "--at",
}
OF_PLAN = {"--target-score", "--cost-label", "--cost-run", "--margin"}
OF_RESULTS = {"--without", "--columns", "--where", "--wide", "--better", "--unit", "--predictions", "--next"} | {
    "--worth",
    "--planned",
}
RUNNER = {"--workers", "--threads", "--device", "--backend"}
JOB = {*RUNNER, "--slurm", "--local", "--job-minutes", "--gpus", "--logs", "--seeds", "--labels"}

MISTAKES = {
    "rank usps --from a.safetensors --labels 0 --seeds 0": ("--labels", "--seeds"),
    "diagnose net.pt --data usps --examples 0 --part x --seed -1": ("--examples", "--part", "--seed"),
    "plan labels.csv --classes 1 --margin -2 --cost-label -1": ("--classes", "--margin", "--cost-label"),
    "scaling n.csv --cost-run -1 --loss x --target-score many": ("--cost-run", "--loss", "--target-score"),
    "scaling n.csv --budget 0 --largest-size nan --target-score 1e300": (
        "--budget",
        "--largest-size",
        "--target-score",
    ),
}
"""Command lines with values that no option can have."""

USED: dict[str, set[str]] = {
    "rank x --from a.safetensors": FILES | ARCHITECTURE,
    "rank x --from hf:folder": FILES,
    "rank s.toml": {"--scores", "--method", "--study", "--device", "--from"},
    "scaling n.csv": {"--columns", "--by", "--repeats", "--better", "--cost"} | ASKED,
    "scaling s.toml": {"--by", "--study"} | ASKED,
    "plan labels.csv": OF_PLAN | {"--columns", "--better", "--without", "--classes", "--where", "--wide"},
    "plan s.toml": OF_PLAN | {"--study"},
    "diagnose s.toml --map": {"--seed", "--study"},
    "show": set(),
    "show digits": {"--fetch"},
    "show lenet": {"--widths", "--shape", "--weights", "--input", "--head"},
    "run s.toml": {*RUNNER, "--seeds", "--labels", "--keep", "--store", "--address", "--retry-failed"}
    | {"--network-disk", "--join", "--slurm", "--local"},
    "run s.toml --join": {*RUNNER, "--study", "--runs", "--minutes", "--store", "--address", "--network-disk"},
    "run s.toml --slurm 1": JOB | {"--cpus", "--memory", "--partition", "--account", "--sbatch", "--join"},
    "run s.toml --local 1": JOB | {"--join"},
    "report s.toml --table csv": {"--study"},
    "compare n.csv": {*OF_RESULTS, "--width", "--metric", "--margin", "--from", "--task"},
    "compare n.csv --next 2": {*OF_RESULTS, "--metric", "--margin", "--from", "--task"},
    "compare s.toml": {"--from", "--task"},
    "compare n.csv --task t": {"--tried", "--columns", "--where", "--wide", "--better", "--metric", "--labels"},
}
"""What a command uses of its options, by how it is called."""

VALUES = {
    "--keep": "all",
    "--recipe": "equal",
    "--batch-norm": "source",
    "--class-weights": "balanced",
    "--optimiser": "adamw",
    "--precision": "auto",
    "--where": "a=b",
    "--wide": "arms",
    "--network": "mlp",
    "--input": "mean=0,std=1",
    "--widths": "2 3 5",
    "--width": "column",
    "--set": "curvature.k=3",
    "--better": "lower",
    "--loss": "huber",
    "--cost": "6*N*D",
    "--part": "target_test",
    "--labels": "7",
    "--seeds": "7",
    "--source-transforms": "grey",
    "--columns": "labels=m",
    "--without": "a",
}


def _unused() -> Iterator[Any]:
    known = commands()
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
        assert "is given twice and takes one value" in str(found)


OVER_N = {"--cost-pretrain": "1", "--cost-run": "1e6", "--target-score": "0.8"}
OVER_BOTH = {"--cost-pretrain": "1", "--cost-label": "1", "--target-score": "2.1"}
CHANGES = [
    *((OVER_N, one) for one in [("--target-score", "0.7"), ("--largest-size", "7e4"), ("--cost-pretrain", "1e3")]),
    *(
        (OVER_N, one)
        for one in [("--cost-run", "1"), ("--budget", "1.07e6"), ("--loss", "huber"), ("--cost-label", "1")]
    ),
    *((OVER_BOTH, one) for one in [("--largest-size", "1.7e10"), ("--cost-pretrain", "90"), ("--cost-label", "90")]),
    *((OVER_BOTH, one) for one in [("--cost-run", "1e9"), ("--budget", "1e12"), ("--target-score", "2.3")]),
    *(({}, one) for one in [("--target-score", "2.1"), ("--largest-size", "1e12"), ("--cost-pretrain", "2")]),
    *(({}, one) for one in [("--cost-label", "3"), ("--cost-run", "2"), ("--budget", "1e12"), ("--loss", "log")]),
]


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """What `scaling` says with options, asked once: of one axis where they are those of `OVER_N`, else of two."""
    folder = tmp_path_factory.mktemp("tables")
    pd.DataFrame({"n": SIZES, "error": OBJDET}).to_csv(folder / "n.csv", index=False)
    language_models().to_csv(folder / "both.csv", index=False)

    @cache
    def said(name: str, *words: str) -> str:
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
    assert document(name, *chain(*changed.items())) != document(name, *chain(*options.items()))


@pytest.mark.parametrize("line", MISTAKES)
def test_all_mistakes_of_a_command_line_are_named_at_once(line: str) -> None:
    result = CliRunner().invoke(app, line.split(), standalone_mode=False)
    assert isinstance(result.exception, typer.BadParameter | SettingsError)
    said = getattr(result.exception, "format_message", result.exception.__str__)()
    assert all(said.count(option) == 1 for option in MISTAKES[line])
