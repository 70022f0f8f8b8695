"""`transferscope rank`: what to transfer from, before any training on the target."""

from pathlib import Path
from typing import Annotated

import typer

from transferscope.cli.as_json import AsJson, print_analysis
from transferscope.cli.complete import DATA, SCORES, among
from transferscope.cli.options import (
    DeviceOption,
    HeadOption,
    InputOption,
    NetworkOption,
    OutOption,
    StudyName,
    TransformsOption,
    WidthsOption,
    refuse_others,
)
from transferscope.errors import SettingsError, refuse_unused

_OF_STUDIES = {"scores", "method", "study", "device", "out", "as_json"}


def rank(
    context: typer.Context,
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET|STUDY",
            autocompletion=among(DATA),
            help="Data to transfer to, as in usps or npz:PATH; or alone, a finished study or its store.",
        ),
    ],
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--from", metavar="NETWORK ...", help="Files of weights, and networks such as hf:FOLDER or timm:NAME."
        ),
    ] = None,
    labels: Annotated[int | None, typer.Option(min=1, help="Labelled examples to compute scores on. [100]")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Repetitions: draws of so many labels.")] = 3,
    scores: Annotated[
        list[str] | None, typer.Option(autocompletion=among(SCORES), help="Scores by name. [all]")
    ] = None,
    transforms: TransformsOption = None,
    network: NetworkOption = "lenet",
    widths: WidthsOption = None,
    input: InputOption = None,
    head: HeadOption = None,
    method: Annotated[
        str | None,
        typer.Option(help="Of a study: the method that scores are held against. [fine-tune, if any]"),
    ] = None,
    study: StudyName = None,
    device: DeviceOption = None,
    out: OutOption = None,
    as_json: AsJson = False,
) -> None:
    """What to transfer from? Rate pretrained networks on a few labelled target examples, without training.

    Of a finished study, also how well each score would have chosen, given what transfer really gave; its report shows
    this from then on.
    """
    if source:
        refuse_unused(
            {"--method": method is not None, "--study": study is not None}, "networks are rated without a study"
        )
    elif target.endswith(".toml") or "://" in target or Path(target).is_file():
        refuse_others(context, _OF_STUDIES, "a study says which networks, labels and seeds to use")
    else:
        raise SettingsError(
            f"rank was given {target!r} and no networks, and there is no study of this name; give them behind --from, "
            f"as in: transferscope rank {target} --from a.safetensors b.safetensors"
        )
    # the command line starts faster without what a mistake, or another command, does not need
    from transferscope.analyses.rank.question import rank as ask
    from transferscope.cli.answer import as_text, as_typed, counted_progress, in_a_line, write_files
    from transferscope.models import NetworkInput, NetworkSettings
    from transferscope.report.save import file_name
    from transferscope.study.settings import DataSettings

    if out is not None:
        out.mkdir(parents=True, exist_ok=True)  # before the work begins, so that a mistake in it costs nothing
    try:
        with counted_progress("Rating pretrained networks", "values") as on_progress:
            result = ask(
                list(source) if source else target,
                DataSettings(target, tuple(transforms or ())) if source else None,
                network=NetworkSettings(
                    network,
                    None if widths is None else tuple(widths),
                    head=head,
                    input=None if input is None else NetworkInput.from_text(input),
                ),
                labels=labels or 100,
                seeds=seeds,
                scores=scores or (),
                against=method,
                study=study,
                device=device or "auto",
                on_progress=on_progress,
            )
    except KeyboardInterrupt:
        typer.echo("transferscope: stopped before everything was rated", err=True)
        raise typer.Exit(130) from None
    files = []
    if out is not None:
        page = result.report(out / f"{file_name(result.target)}-ranking.html", command=as_typed())
        files = [page.html, *write_files(out, result.figures(), result.tables())]
    if as_json:
        print_analysis("rank", result, files, kept=result.kept)
        return
    written = f"written: {in_a_line(files)}" if files else None
    typer.echo("\n\n".join(filter(None, [as_text(result.answer()), written, result.kept])))
