"""`transferscope rank`: which source to transfer from, without training."""

from pathlib import Path

import typer

from transferscope.analyses.rank.question import rank as ask
from transferscope.cli.answer import as_text, as_typed, counted_progress, in_a_line, write_files
from transferscope.cli.as_json import print_analysis
from transferscope.cli.commands.rank import Options
from transferscope.cli.keys import made
from transferscope.cli.options import file_in, refuse_others
from transferscope.cli.terminal import say
from transferscope.errors import SettingsError, refuse_unused
from transferscope.machine import keep_freed_memory
from transferscope.models import NetworkSettings
from transferscope.report.save import file_name
from transferscope.settings.data import DataSettings

_OF_STUDIES = {"scores", "set", "study", "out", "as_json"}


def rank(options: Options, context: typer.Context) -> None:
    """Rank networks on target examples, or those of a finished study."""
    asked = dict(options.settings)
    if options.source:
        refuse_unused(
            {"method": "method" in asked, "--study": options.study is not None}, "networks are rated without a study"
        )
    elif options.target.endswith(".toml") or "://" in options.target or Path(options.target).is_file():
        why = "a study says which networks, labels and seeds to use"
        refuse_others(context, _OF_STUDIES, why)
        refuse_unused({name: name in asked for name in ("network", "labels", "seeds")}, why)
    else:
        raise SettingsError(
            f"{options.target!r} is not a study, and there are no networks to rank; give some, as in: transferscope "
            f"rank {options.target} --from a.safetensors b.safetensors"
        )
    if options.out is not None:
        file_in(options.out, "ranking.html")  # before the work begins, so that a mistake in it costs nothing
    network = made(NetworkSettings, {"name": options.network, **asked.pop("network", {})})
    keep_freed_memory()
    with counted_progress("Rating pretrained networks", "values") as on_progress:
        result = ask(
            DataSettings(options.target, tuple(options.transforms or ())) if options.source else options.target,
            list(options.source) if options.source else None,
            network=network,
            study=options.study,
            **asked,
            on_progress=on_progress,
        )
    files = []
    if options.out is not None:
        page = file_in(options.out, f"{file_name(result.target)}-ranking.html")
        result.report(page, command=as_typed())
        files = [page, *write_files(page.parent, result.figures(), result.tables())]
    if options.as_json:
        print_analysis("rank", result, files, kept=result.kept)
        return
    written = f"written: {in_a_line(files)}" if files else None
    say("\n\n".join(filter(None, [as_text(result.answer()), written, result.kept])))
