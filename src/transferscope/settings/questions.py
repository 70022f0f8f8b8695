"""Settings of the analyses, with the same defaults in Python and on the command line."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

from annotated_types import Ge, Le

from transferscope.errors import SettingsError, unknown_name
from transferscope.records import Checked, Count, NotNegative, Positive, Says, check_settings

LEAST, MOST = 1e-30, 1e30
"""Range of sizes and errors above 0."""

Size = Annotated[float, Ge(LEAST), Le(MOST)]
Finite = Annotated[float, Ge(-MOST), Le(MOST)]

Loss = Literal["log", "linear", "huber"]
"""The residual of a fit: log y - log f ("log", and "huber" with linear tails far off) or y - f ("linear")."""

Better = Literal["lower", "higher"]
"""Which scores are better."""

Wide = Literal["arms", "labels", "seeds"]
"""Meaning of the columns of scores in a table with several scores per row."""


@dataclass(frozen=True, kw_only=True)
class RankQuestion(Checked):
    """Settings of a ranking of pretrained networks."""

    labels: Annotated[
        Count | None,
        Says("Labelled training examples to compute scores on", "At least 2 for each class; None for all."),
    ] = 100
    seeds: Annotated[Count, Says("Repetitions: draws of the labels", "As a study draws them by 0, 1, ...")] = 3
    scores: Annotated[tuple[str, ...], Says("Scores by name", "Empty for all.")] = ()
    method: Annotated[
        str | None,
        Says(
            "For a study: the method that scores are compared with",
            "None for the first of fine-tune, l2-sp, merlin and linear-probe that has results for all networks.",
        ),
    ] = None
    device: Annotated[str, Says('"auto", "cpu", "cuda" or "mps"')] = "auto"


@dataclass(frozen=True, kw_only=True)
class DiagnoseQuestion(Checked):
    """Settings of a diagnosis of a trained network."""

    labels: Annotated[
        Count | None,
        Says("Labels it was trained on", "The training examples that a study draws by `seed`; None for all."),
    ] = None
    seed: Annotated[int, Ge(0), Says("Seed of that subset, as in a study, and of maps")] = 0
    examples: Annotated[Count, Says("Examples to measure on", "At even distances.")] = 600
    part: Annotated[Literal["target_train", "target_test"], Says("Which examples")] = "target_train"
    scaling: Annotated[
        str | None,
        Says(
            "How inputs are scaled",
            'Before the network reads them: "own" by the mean and standard deviation of the training examples, "none" '
            'as they are (bytes as 0..1), or "MEAN/STD" in that unit, as for `PixelScale.from_text`; None for what the '
            'file says, else the network\'s input, and "own" where neither says.',
        ),
    ] = None
    head: Annotated[str, Says('Name of the submodule whose input is "the features"')] = "head"
    device: Annotated[str, Says('"auto", "cpu", "cuda" or "mps"')] = "auto"


@dataclass(frozen=True, kw_only=True)
class PlanQuestion(Checked):
    """Settings of a label plan."""

    target_score: Annotated[Finite | None, Says("Target score, in its unit", "None without one.")] = None
    cost_label: Annotated[NotNegative | None, Says("Cost of a labelled target example", "None when unknown.")] = None
    cost_run: Annotated[NotNegative | None, Says("Cost of a run of training", "None when unknown.")] = None
    margin: Annotated[
        NotNegative,
        Says("Margin: differences that do not matter, in points", "Points of accuracy, or the unit of the score."),
    ] = 0.0
    classes: Annotated[
        Annotated[int, Ge(2)] | None,
        Says("Number of classes of a table, so that curves start at chance", "A study knows."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ScalingQuestion:
    """Settings of a scaling analysis."""

    target_score: Annotated[
        Size | None,
        Says(
            "Target score, in its unit", "None for forecasts only. Of a study as for a plan: 95 or 0.95 of an accuracy."
        ),
    ] = None
    largest_size: Annotated[
        Size | None, Says("Largest feasible pretraining size", "None for 100 times the largest measured.")
    ] = None
    budget: Annotated[Positive | None, Says("Budget", "None for no plan.")] = None
    cost_pretrain: Annotated[NotNegative, Says("Cost of a pretraining example")] = 0.0
    cost_label: Annotated[NotNegative, Says("Cost of a labelled target example")] = 0.0
    cost_run: Annotated[NotNegative, Says("Cost of a run of training")] = 0.0
    cost: Annotated[
        str | None, Says("Cost of training N parameters on D tokens", "A formula; None for 6*N*D operations.")
    ] = None
    at: Annotated[tuple[tuple[Size, ...], ...], Says("Sizes to predict at", "Each as (n,), (n, s) or (N, D).")] = ()
    loss: Annotated[
        Loss | None,
        Says(
            "Residual of the fits",
            "None for huber, which a few bad rows do not move, where both sizes vary freely; log.",
        ),
    ] = None

    def __post_init__(self) -> None:
        check_settings(self)
        if self.cost is not None and (self.cost_pretrain or self.cost_label or self.cost_run):
            raise SettingsError("cost (a formula) and prices of data or runs are both given; give one of them")


@dataclass(frozen=True)
class LabelColumns:
    """The columns of a table of scores by number of labels; None to find them by common names."""

    labels: Annotated[str | None, Says("The number of labels")] = None
    arm: Annotated[
        str | None,
        Says(
            "What was trained", "From scratch, or a way of transfer; several columns with + between them are one name."
        ),
    ] = None
    score: Annotated[
        str | None,
        Says(
            "The score", "Or what is measured, where a table has a column of scores for each arm or number of labels."
        ),
    ] = None
    seed: Annotated[
        str | None,
        Says(
            "The repetition",
            "As an arm of several columns too; runs of two arms with the same seed share their labels.",
        ),
    ] = None
    stderr: Annotated[str | None, Says("Standard errors of scores")] = None
    scratch: Annotated[str | None, Says("The baseline of a table: training from scratch")] = None
    better: Annotated[Better | None, Says("Which scores are better", "None: by name and trend.")] = None
    task: Annotated[str | None, Says("What was learnt", "A plan is of one.")] = None
    where: Annotated[Mapping[str, str], Says("The rows to keep", "A value by column.")] = field(default_factory=dict)
    wide: Annotated[
        bool | Literal["tasks"],
        Says(
            "Columns of scores are an arm each",
            "Those of numbers without another meaning; they are where one has a name of training from scratch. With "
            '"tasks" they are a task each, as on a leaderboard with a row for each model.',
        ),
    ] = False


@dataclass(frozen=True)
class RunColumns:
    """The columns of a table of runs by role; None for the usual names (`columns.ROLES`).

    Attributes:
        arm: The arm; or only the method, with a column of sources. Several columns joined by + form one name.
        source: The source, empty for a baseline.
        seed: The seed, fold or split: runs of two arms that share it are a pair.
        labels: The number of labelled target examples.
        cost: Seconds of a run.
        state: The state of a run, such as failed.
        predictions: The file of predictions of each run (`by_example.scores_by_example`).
        metric: The column of scores, or the metric in a table with a column of metrics.
        better: Which scores are better; None to infer it from the name of the metric.
        unit: Unit of the scores: "share" for fractions, "%", or any other; None to infer it from their size.
        wide: What the columns of scores stand for; None for one score per row.
        where: The rows to keep: a value by column.
        task: The task of each run; tasks are compared separately (`compare.tasks.compare_tasks`).

    Raises:
        UnknownNameError: `better` or `wide` is unknown.
    """

    arm: str | None = None
    source: str | None = None
    seed: str | None = None
    labels: str | None = None
    cost: str | None = None
    state: str | None = None
    predictions: str | None = None
    metric: str | None = None
    better: Better | None = None
    unit: str | None = None
    wide: Wide | None = None
    where: Mapping[str, str] = field(default_factory=dict)
    task: str | None = None

    def __post_init__(self) -> None:
        for option, given, known in (("--better", self.better, Better), ("--wide", self.wide, Wide)):
            if given not in (None, *get_args(known)):
                raise unknown_name(f"value of {option}", str(given), get_args(known))


@dataclass(frozen=True)
class Columns:
    """The columns of a table of errors by size.

    Raises:
        SettingsError: A column is given twice, or both standard errors and repeats are given.
    """

    error: Annotated[str, Says("The target error or loss")] = "error"
    pretrain_size: Annotated[str, Says("Pretraining size n")] = "n"
    finetune_size: Annotated[str | None, Says("Fine-tuning size s", "None when there is only one.")] = None
    by: Annotated[tuple[str, ...], Says("Columns that separate curves", "As task, model or rendering.")] = ()
    stderr: Annotated[str | None, Says("Standard errors of `error`", "None when unknown.")] = None
    repeats: Annotated[
        bool, Says("Rows at the same sizes are repeats", "Their mean and its standard error are used.")
    ] = False
    better: Annotated[Better | None, Says("Which scores are better", "None: by name and trend.")] = None
    budget: Annotated[str | None, Says("Compute of a run on parameters and tokens", "None for 6 N D.")] = None

    def __post_init__(self) -> None:
        check_settings(self)
        twice = [name for name in self.numeric if self.numeric.count(name) > 1]
        if twice:
            raise SettingsError(f"column {twice[0]!r} is given twice, as error, size or standard error; give it once")
        if self.stderr is not None and self.repeats:
            raise SettingsError(
                f"a column of standard errors ({self.stderr}) and repeats are both given; give one of them"
            )

    @property
    def numeric(self) -> tuple[str, ...]:
        """The numeric columns."""
        return tuple(
            name
            for name in (self.error, self.pretrain_size, self.finetune_size, self.stderr, self.budget)
            if name is not None
        )
