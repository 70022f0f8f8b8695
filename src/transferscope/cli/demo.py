"""`transferscope demo`: a whole study without any download."""

from importlib.resources import files

from transferscope.cli.commands.demo import Options
from transferscope.cli.execute import execute, report_on
from transferscope.cli.terminal import say
from transferscope.study.planners import read_study_file


def demo(options: Options, _: object = None) -> None:
    """Write the study file of the demonstration, run it and report."""
    options.out.mkdir(parents=True, exist_ok=True)
    study = options.out / "demo.toml"
    text = files("transferscope.cli").joinpath("demo.toml").read_text(encoding="utf-8")
    study.write_text(f"store = 'demo.sqlite'\n{text}", encoding="utf-8")
    say(f"study:   {study}")
    report_on(study, execute(read_study_file(study), study=study), json_of="demo" if options.as_json else None)
