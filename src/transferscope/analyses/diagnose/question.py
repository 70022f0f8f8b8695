"""`diagnose`: choose diagnostics of a trained network and measure them one after the other."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from transferscope.analyses.diagnose.choice import Changes, choose, make_diagnostics
from transferscope.analyses.diagnose.of_study import study_subject
from transferscope.analyses.diagnose.reach import reach_of
from transferscope.analyses.diagnose.result import DiagnosisResult, Measured, Refused
from transferscope.analyses.diagnose.subject import FileQuestion, subject_of
from transferscope.arguments import checks_arguments
from transferscope.errors import SettingsError, TransferscopeError
from transferscope.models import NetworkSettings
from transferscope.models.pretrained import as_file_says
from transferscope.settings.data import DataSettings
from transferscope.study.places import is_study

NEEDS_DATA = (
    "diagnose takes a network with the data to measure it on, as in `transferscope diagnose net.safetensors --data "
    "usps`, or a finished study alone, as in `transferscope diagnose usps.toml`"
)

UNFINISHED = "landscape.unfinished.npz"
"""File of an unfinished landscape, to resume after an interruption."""


@checks_arguments
def diagnose(
    checkpoint: str | Path,
    data: str | DataSettings | None = None,
    *,
    network: str | NetworkSettings = "lenet",
    against: str | Path | None = None,
    source: str | DataSettings | None = None,
    diagnostics: Sequence[str] = (),
    changes: Changes | None = None,
    labels: int | None = FileQuestion.labels,
    seed: int = FileQuestion.seed,
    examples: int = FileQuestion.examples,
    part: Literal["target_train", "target_test"] = FileQuestion.part,
    scaling: str | None = FileQuestion.scaling,
    head: str = FileQuestion.head,
    device: str = FileQuestion.device,
) -> DiagnosisResult:
    """Compare the features of a trained network with random ones and its initial weights, and measure diagnostics.

    Args:
        checkpoint: Weights of a trained network; or a finished study, for the network of its best transfer arm, with
            its data and initial weights.
        data: Data by name, or with transformations, as `source`. None for a study.
        network: Name or settings of the network; None for a file written by a study, which contains them.
        diagnostics: Names of diagnostics, measured with their own settings; empty for all that apply, with quick
            settings, except those with many passes through a network of another package.
        changes: Settings to change, as in {"curvature": {"k": 5}}.

    Further arguments are those of `settings.questions.DiagnoseQuestion` and `FileQuestion`.

    Returns:
        The measured diagnostics. Those that were not requested and cannot be measured are left out and listed.

    Raises:
        TransferscopeError: Files, data, names or settings are invalid, or a requested diagnostic cannot be measured.

    Example:
        >>> print(diagnose("net.safetensors", "usps", against="start.safetensors").verdict)  # doctest: +SKIP
    """
    if (data is None) != is_study(str(checkpoint)):
        raise SettingsError(NEEDS_DATA)
    question = FileQuestion(
        checkpoint=Path(checkpoint),
        data=data if isinstance(data, DataSettings) else DataSettings(data or ""),
        network=network if isinstance(network, NetworkSettings) else NetworkSettings(network),
        against=None if against is None else Path(against),
        source=source if source is None or isinstance(source, DataSettings) else DataSettings(source),
        labels=labels,
        seed=seed,
        examples=examples,
        part=part,
        head=head,
        device=device,
        scaling=scaling,
    )
    result = measure_all(question, diagnostics, changes or {})
    if result.refused is not None:
        raise result.refused
    return result


def measure_all(
    question: FileQuestion,
    names: Sequence[str],
    changes: Changes,
    *,
    study: str | None = None,
    folder: Path | None = None,
    on_progress: Callable[[float, int], None] = lambda done, total: None,
) -> DiagnosisResult:
    """Measure diagnostics one after the other; a failure does not stop the others.

    Args:
        names: As `diagnostics` in `diagnose`.
        study: Name of the study if the file of the question is a store with several.
        folder: Folder in which an interrupted landscape is resumed; None for none.
        on_progress: Called with (diagnostics done, total); a landscape in progress counts by its finished share.

    Returns:
        The measured diagnostics, and the reasons for those that could not be measured.
    """
    make_diagnostics(names, changes)  # mistakes in settings are said before anything is read
    if is_study(str(question.checkpoint)):
        question, looked_at = study_subject(question.checkpoint, question, study=study)
    else:
        question = replace(question, network=as_file_says(question.network, question.checkpoint))
        looked_at = subject_of(question)
    choices = choose(names, changes, looked_at, of_others=":" in question.network.name)
    wanted, measured, refused = [one for one in choices if one.lacks is None], list[Measured](), list[Refused]()
    file = None if folder is None else folder / UNFINISHED
    for done, choice in enumerate(wanted):
        on_progress(done, len(wanted))

        def progress(values: int, of: int, done: int = done) -> None:
            on_progress(done + values / max(1, of), len(wanted))

        name = choice.diagnostic.name
        try:
            findings = looked_at.measure(choice.diagnostic, file=file, progress=progress)
        except TransferscopeError as error:
            refused.append(Refused(name, error, wanted=choice.wanted))
            continue
        measured.append(Measured(choice.diagnostic, findings, wanted=choice.wanted))
        try:
            measured[-1] = replace(measured[-1], others=looked_at.measure_beside(choice.diagnostic))
        except TransferscopeError as error:
            refused.append(Refused(name, error, beside=True))
        if file is not None and name == "landscape":
            file.unlink(missing_ok=True)
    lacking = tuple((one.diagnostic.name, one.lacks) for one in choices if one.lacks is not None)
    try:
        reach = reach_of(looked_at)
    except TransferscopeError as error:
        refused.append(Refused("a linear model on the features", error))
        reach = None
    return DiagnosisResult(question, looked_at, tuple(measured), lacking, tuple(refused), reach)
