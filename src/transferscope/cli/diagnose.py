"""`transferscope diagnose`: why transfer helps or not, by diagnostics of a network, or of those of a study."""

import typer

from transferscope.analyses.diagnose.question import NEEDS_DATA, measure_all
from transferscope.analyses.diagnose.subject import FileQuestion
from transferscope.cli.answer import as_text, as_typed, counted_progress, in_a_line
from transferscope.cli.as_json import print_analysis
from transferscope.cli.commands.diagnose import Options
from transferscope.cli.keys import made
from transferscope.cli.options import file_in, refuse_others
from transferscope.cli.terminal import say
from transferscope.errors import SettingsError, refuse_unused
from transferscope.machine import keep_freed_memory
from transferscope.models import NetworkSettings
from transferscope.settings.data import DataSettings
from transferscope.study.places import is_study

_OF_STUDIES = {"checkpoint", "diagnostics", "labels", "set", "study", "out", "as_json", "quiet"}


def diagnose(options: Options, context: typer.Context) -> None:
    """Measure a network, or that of a study."""
    asked = dict(options.settings)
    if options.source is None:
        refuse_unused({"source": "source" in asked}, "there is no --from to transform")
    if is_study(str(options.checkpoint)):
        why = "the study says network, data and start itself"
        refuse_others(context, _OF_STUDIES, why)
        refuse_unused({name: name in asked for name in ("network", "source", "seed", "scaling")}, why)
    else:
        refuse_unused({"--study": options.study is not None}, "a network was given, and no study")
        if options.data is None:
            raise SettingsError(NEEDS_DATA)
    changes = asked.pop("diagnostics", {})
    of_source = {"data": options.source, "transforms": options.transforms or [], **asked.pop("source", {})}
    source = None if options.source is None else made(DataSettings, of_source)
    question = FileQuestion(
        checkpoint=options.checkpoint,
        data=DataSettings(options.data or "", tuple(options.transforms or ())),
        network=made(NetworkSettings, {"name": options.network, **asked.pop("network", {})}),
        against=options.against,
        source=source,
        **asked,
    )
    page = None if options.out is None else file_in(options.out, "diagnosis.html")
    keep_freed_memory()
    with counted_progress("Measuring", "diagnostics", hidden=options.quiet) as on_progress:
        result = measure_all(
            question,
            options.diagnostics or (),
            changes,
            study=options.study,
            folder=None if page is None else page.parent,
            on_progress=on_progress,
        )
    files = []
    if page is not None:
        result.report(page, command=as_typed())
        files = [page, *(page.parent / file for file in result.write(page.parent))]
    if options.as_json:
        print_analysis("diagnose", result, files)
    else:
        say("\n\n".join([as_text(result.answer()), *([f"written: {in_a_line(files)}"] if files else [])]))
    if result.refused is not None:
        raise result.refused
