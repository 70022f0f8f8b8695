"""Data settings of a study file: the tables [target] and [tuning], and data by name."""

from dataclasses import dataclass
from typing import Annotated, Literal

from transferscope.errors import SettingsError
from transferscope.records import Checked, Count, Says, check_settings

Value = bool | int | float | str
Draw = Literal["stratified", "balanced"]
"""Draw of labelled examples: proportional to class frequency, or equally many per class."""

Transforms = Annotated[tuple[str, ...], Says("Transforms of the data by name, in this order")]
Limit = Annotated[Count | None, Says("Training examples to keep", "None for all.")]
TestLimit = Annotated[Count | None, Says("Test examples to keep", "None for all.")]


@dataclass(frozen=True, slots=True)
class DataSettings(Checked):
    """A data set by name, with its transforms and limits."""

    data: Annotated[str, Says("Name of the data", 'As in "usps" or "npz:PATH".')]
    transforms: Transforms = ()
    limit: Limit = None
    test_limit: TestLimit = None


@dataclass(frozen=True, slots=True)
class TargetSettings(DataSettings):
    """The target: its data and the numbers of labels to study."""

    labels: Annotated[
        tuple[Count, ...], Says("Numbers of labelled target examples", "In all, distinct; empty for all available.")
    ] = ()
    draw: Annotated[
        Draw,
        Says(
            "How each seed draws the labelled examples",
            '"stratified": each class by its share of the training examples; "balanced": as many of each class, as '
            "people choose whom they label. For classes alone.",
        ),
    ] = "stratified"
    metric: Annotated[
        Literal["accuracy", "balanced-accuracy", "macro-f1", "matthews"] | None,
        Says(
            "Metric of runs, as in macro-f1",
            "None for accuracy, average precision or squared error, by the kind of the labels, and for balanced "
            "accuracy where four in five training examples are of one class; see `numerics.class_measures`. It can be "
            "changed in a finished study, whose runs stay as they are.",
        ),
    ] = None

    def __post_init__(self) -> None:
        check_settings(self)
        check_distinct(labels=self.labels)

    @property
    def as_data(self) -> DataSettings:
        """The data settings without the numbers of labels."""
        return DataSettings(self.data, self.transforms, self.limit, self.test_limit)


@dataclass(frozen=True, slots=True)
class TuningSettings(Checked):
    """Hyperparameter search, by cross-validation on the first seed's target training data, for all seeds."""

    grid: Annotated[
        dict[str, dict[str, tuple[Value, ...]]] | None,
        Says(
            "Values to try, by method and setting",
            "A setting is one of the method's or of [training]. None for values around those that each method has "
            "(see `methods.tuning.search_grid`); {} tries nothing.",
        ),
    ] = None


def check_distinct(**sizes: tuple[int, ...]) -> None:
    """Refuse a size that occurs twice, with a SettingsError; sizes come by the name of their setting."""
    for name, given in sizes.items():
        if len(set(given)) < len(given):
            raise SettingsError(f"{name} = {list(given)} contains the same number twice; give each once")
