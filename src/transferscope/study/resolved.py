"""Training settings of an arm: those of the study, and its recipe for the others."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from transferscope.methods import Method
from transferscope.methods.method import Value
from transferscope.methods.recipes import Traits, recipe_in_words, row_of, trained_as, with_recipe
from transferscope.methods.tuning import search_grid
from transferscope.study.spec import StudySpec
from transferscope.training import TrainingSettings


@dataclass(frozen=True, slots=True)
class Resolved:
    """The settings of an arm for a number of labels.

    Attributes:
        grid: Values to try by setting; empty for no search.
    """

    method: Method
    training: TrainingSettings
    grid: Mapping[str, tuple[Value, ...]]

    @property
    def words(self) -> str:
        """Its training in one line."""
        return recipe_in_words(self.method, self.training)


def resolved(spec: StudySpec, name: str, traits: Traits, n_labels: int) -> Resolved:
    """Return the settings of the method of this name."""
    method = with_recipe(spec.recipe, spec.methods[name], traits, given=spec.given_in(f"methods.{name}"))
    training = spec.training
    if method.takes_steps:
        given = spec.given_in("training")
        training = trained_as(spec.recipe, training, traits, n_labels, name=method.recipe, given=given)
    return Resolved(method, training, _grid(spec, name, method, training, traits))


def _grid(
    spec: StudySpec, name: str, method: Method, training: TrainingSettings, traits: Traits
) -> Mapping[str, tuple[Value, ...]]:
    """Sort grids like stored tables, since their order decides which combinations are tried."""
    if spec.tuning is None:
        return {}
    if spec.tuning.grid is not None:
        return dict(sorted(spec.tuning.grid.get(name, {}).items()))
    by_hand = spec.recipe == "field" and "lr" in spec.given_in("training")  # which is not searched
    grid = search_grid(method, training, rates=not by_hand)
    return {key: values for key, values in sorted(grid.items()) if not (traits.on_grid and key == "head")}


def source_of_recipe(spec: StudySpec, method: Method, traits: Traits) -> str:
    """Return the origin of a method's defaults; "" for equal budgets and methods without steps."""
    return row_of(traits.family, method.recipe).source if spec.recipe == "field" and method.takes_steps else ""


def pretrained_as(spec: StudySpec, traits: Traits, n_source: int) -> TrainingSettings:
    """Return the training settings on a source with a number of labels."""
    assert spec.pretraining is not None
    given = spec.given_in("pretraining")
    training = trained_as(spec.recipe, spec.pretraining, traits, n_source, name="pretrain", given=given)
    return training if spec.recipe == "equal" else replace(training, batch_norm="train")
