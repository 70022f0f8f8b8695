"""`transferscope demo`: a whole study without any download."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from transferscope.cli.as_json import AsJson


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the study file, the results and the report.")] = Path(
        "demo-out"
    ),
    as_json: AsJson = False,
) -> None:
    """Transfer from rendered characters to real handwritten digits: six arms, 6 seeds, a report; no download.

    Every method has its default settings; none is searched, so that it takes a minute.
    """
    from transferscope.cli.execute import run_and_report

    out.mkdir(parents=True, exist_ok=True)
    study = out / "demo.toml"
    text = files("transferscope.cli").joinpath("demo.toml").read_text(encoding="utf-8")
    study.write_text(f"store = 'demo.sqlite'\n{text}", encoding="utf-8")
    typer.echo(f"study:   {study}")
    run_and_report(study, json_of="demo" if as_json else None)
