"""A cell's recipe: what a worker reads in its payload."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from transferscope.methods import METHODS, Method
from transferscope.models import NetworkSettings
from transferscope.study.settings import DataSettings, SourceSettings, Value
from transferscope.study.tables import setting_names, settings_of
from transferscope.training import TrainingSettings


@dataclass(frozen=True)
class PretrainRecipe:
    """How a cell of role "pretrain" is done; its labels say `n_source` and `seed`.

    Attributes:
        source: The data to pretrain on, of which the cell takes the `n_source` first by its seed.
        network: The network.
        pretraining: Recipe and budget.
    """

    source: DataSettings
    network: NetworkSettings
    pretraining: TrainingSettings

    def as_payload(self) -> dict[str, Any]:
        """The recipe as JSON values."""
        return {
            "source": asdict(self.source),
            "network": asdict(self.network),
            "pretraining": asdict(self.pretraining),
        }

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> Self:
        """The recipe that `as_payload` wrote down."""
        return cls(
            settings_of(DataSettings, payload["source"]),
            settings_of(NetworkSettings, payload["network"]),
            settings_of(TrainingSettings, payload["pretraining"]),
        )


@dataclass(frozen=True)
class CellTuning:
    """How a cell chooses its settings, by cross-validation on its target training data.

    Attributes:
        trials: Settings to try, at least 1.
        folds: Folds, at least 2.
        grid: Values to try for each setting of the method or of the training; empty to try none.
    """

    trials: int
    folds: int
    grid: dict[str, tuple[Value, ...]]


@dataclass(frozen=True)
class MethodRecipe:
    """How a cell of role "method" is done; its labels say `n_target`, `n_source` and `seed`.

    Attributes:
        target: The target's data, of which the cell takes the `n_target` first training examples by its seed.
        source: What it transfers from; None when the method depends on no source. A network that this study
            pretrains comes from the one cell that it needs.
        network: The network.
        training: Recipe and budget.
        method: The method with its settings.
        tuning: How settings are chosen; None to take them as they are.
    """

    target: DataSettings
    source: SourceSettings | None
    network: NetworkSettings
    training: TrainingSettings
    method: Method
    tuning: CellTuning | None = None

    def as_payload(self) -> dict[str, Any]:
        """The recipe as JSON values."""
        return {
            "target": asdict(self.target),
            "source": None if self.source is None else asdict(self.source),
            "network": asdict(self.network),
            "training": asdict(self.training),
            "method": method_as_json(self.method),
            "tuning": None if self.tuning is None else asdict(self.tuning),
        }

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> Self:
        """The recipe that `as_payload` wrote down."""
        source, tuning = payload["source"], payload["tuning"]
        return cls(
            settings_of(DataSettings, payload["target"]),
            None if source is None else settings_of(SourceSettings, source),
            settings_of(NetworkSettings, payload["network"]),
            settings_of(TrainingSettings, payload["training"]),
            settings_of(METHODS[payload["method"]["name"]], payload["method"]["settings"]),
            None if tuning is None else settings_of(CellTuning, tuning),
        )


def method_as_json(method: Method) -> dict[str, Any]:
    """A method as JSON values: its name and its settings."""
    return {"name": method.name, "settings": {name: getattr(method, name) for name in setting_names(type(method))}}
