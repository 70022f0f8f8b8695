"""The recipe of a cell: the content of its payload."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from transferscope.consent import reading
from transferscope.diagnostics import DIAGNOSTICS
from transferscope.errors import SettingsError
from transferscope.methods import METHODS, Method
from transferscope.models import NetworkSettings
from transferscope.registry import planned_code
from transferscope.settings.data import DataSettings, Draw, Value
from transferscope.store import PlannedCell
from transferscope.study.settings import DiagnosticSettings, SourceSettings
from transferscope.study.tables import setting_names, settings_of
from transferscope.training import TrainingSettings


@dataclass(frozen=True)
class _Planned:
    """The entries of payloads besides tables of settings; see the recipes."""

    checkpoints: tuple[int, ...] = ()
    snapshots: tuple[int, ...] | None = None
    checksum: str | None = None
    contents: dict[str, str] = field(default_factory=dict)
    draw: Draw = "stratified"

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> Self:
        return settings_of(cls, {item.name: payload[item.name] for item in fields(cls) if item.name in payload})


@dataclass(frozen=True)
class PretrainRecipe:
    """The recipe of a cell of role "pretrain"; its labels are `n_source` and `seed`.

    Attributes:
        source: The pretraining data; the cell uses the first `n_source` examples in the order of its seed.
        checkpoints: Steps after which the network is kept, in addition to the last one.
        contents: Fingerprint of "source" at planning; empty to skip the check.
    """

    source: DataSettings
    network: NetworkSettings
    pretraining: TrainingSettings
    checkpoints: tuple[int, ...] = ()
    contents: Mapping[str, str] = field(default_factory=dict)

    def as_payload(self) -> dict[str, Any]:
        """Return the recipe as JSON values."""
        return {**asdict(self), **_code(self.network.code)}

    @classmethod
    @reading()
    def from_payload(cls, payload: Mapping[str, Any]) -> Self:
        """Parse a recipe written by `as_payload`."""
        _require(payload, *(item.name for item in fields(cls)))
        kept = _Planned.of(payload)
        return cls(
            settings_of(DataSettings, payload["source"]),
            settings_of(NetworkSettings, payload["network"]),
            settings_of(TrainingSettings, payload["pretraining"]),
            kept.checkpoints,
            kept.contents,
        )


@dataclass(frozen=True)
class CellTuning:
    """The hyperparameter search of a cell (see `TuningSettings`) on its target training data.

    Attributes:
        grid: Values to try for each setting of the method or of the training; empty for no search.
    """

    grid: dict[str, tuple[Value, ...]]


@dataclass(frozen=True)
class MethodRecipe:
    """The recipe of a cell of role "method"; its labels are `n_target`, `n_source` and `seed`.

    Attributes:
        target: The target data; the cell uses the first `n_target` training examples in the order of its seed.
        source: The source; None for a method without one. A network pretrained by this study comes from the cell's only
            need.
        tuning: Search of settings; None for no search.
        snapshots: Keep the target network at the start, at the end, and every `snapshots` steps; None to keep none.
        checksum: SHA-256 of the file of a source network at planning; None for any other source.
        contents: Fingerprints of "target" and "source" at planning; empty to skip the check.
        draw: How a seed draws the training examples of the target.
    """

    target: DataSettings
    source: SourceSettings | None
    network: NetworkSettings
    training: TrainingSettings
    method: Method
    tuning: CellTuning | None = None
    snapshots: tuple[int, ...] | None = None
    checksum: str | None = None
    contents: Mapping[str, str] = field(default_factory=dict)
    draw: Draw = "stratified"

    def as_payload(self) -> dict[str, Any]:
        """Return the recipe as JSON values."""
        code = _code(self.network.code, METHODS.code(type(self.method)))
        return {**asdict(self), "method": method_as_json(self.method), **code}

    @classmethod
    @reading()
    def from_payload(cls, payload: Mapping[str, Any]) -> Self:
        """Parse a recipe written by `as_payload`."""
        _require(payload, *(item.name for item in fields(cls)))
        _require(payload["method"], "name", "settings")
        source, tuning, kept = payload["source"], payload["tuning"], _Planned.of(payload)
        return cls(
            settings_of(DataSettings, payload["target"]),
            None if source is None else settings_of(SourceSettings, source),
            settings_of(NetworkSettings, payload["network"]),
            settings_of(TrainingSettings, payload["training"]),
            settings_of(METHODS[str(payload["method"]["name"])], payload["method"]["settings"]),
            None if tuning is None else settings_of(CellTuning, tuning),
            kept.snapshots,
            kept.checksum,
            kept.contents,
            kept.draw,
        )


@dataclass(frozen=True)
class DiagnoseRecipe:
    """The recipe of a cell of role "diagnose": one diagnostic of the networks of one method cell.

    Its labels are those of the method cell; its last need is the method cell, and its first one the pretraining that
    the method starts from, if it does.

    Attributes:
        fit: Recipe of the networks, which are trained again if their files are missing.
    """

    fit: MethodRecipe
    diagnostic: DiagnosticSettings

    def as_payload(self) -> dict[str, Any]:
        """Return the recipe as JSON values."""
        fit, kind = self.fit.as_payload(), type(self.diagnostic.diagnostic)
        code = _code(fit.pop(_CODE, {}), DIAGNOSTICS.code(kind))
        return {"fit": fit, "diagnostic": self.diagnostic.as_json(), **code}

    @classmethod
    @reading()
    def from_payload(cls, payload: Mapping[str, Any]) -> Self:
        """Parse a recipe written by `as_payload`."""
        _require(payload, "fit", "diagnostic")
        return cls(MethodRecipe.from_payload(payload["fit"]), DiagnosticSettings.from_json(payload["diagnostic"]))


_CODE = "code"
"""Payload key of the digests of user code at planning."""


def _code(*parts: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the user code in a payload; empty if there is none."""
    code = {name: digest for part in parts for name, digest in part.items()}
    return {_CODE: code} if code else {}


def code_of(cells: Iterable[PlannedCell], kind: str = "") -> dict[str, str]:
    """Return the user code that cells were planned with, for `code_as_planned`; of one kind, or all ("")."""
    digests: dict[str, str] = {}
    for cell in cells:
        code = cell.payload.get(_CODE)
        digests |= code if isinstance(code, Mapping) else {}
    return {name: digest for name, digest in digests.items() if name.startswith(f"{kind} " if kind else "")}


def code_as_planned(code: Mapping[str, str]) -> AbstractContextManager[None]:
    """Resolve user methods, networks and diagnostics to the code of `code_of` inside the block, and refuse others."""
    remedy = "run the study file again, which repeats the runs that use it"
    return planned_code(code, since="the study was planned with it", remedy=remedy)


def _require(plain: object, *names: str) -> None:
    """Refuse an incomplete stored recipe."""
    lacking = [name for name in names if not isinstance(plain, Mapping) or name not in plain]
    if lacking:
        raise SettingsError(
            f"a stored recipe lacks {lacking[0]!r}, so the store is damaged or of another version; restore it from a "
            "copy, or run the study in a new store"
        )


def method_as_json(method: Method) -> dict[str, Any]:
    """Return a method as JSON values: its name and its settings."""
    settings = {name: getattr(method, name) for name in setting_names(type(method))}
    return {"name": METHODS.reference(type(method)), "settings": settings}


def method_identity(method: Method) -> dict[str, Any]:
    """Return everything about a method that can change a result, as JSON values; for user code including its source."""
    described, origin = method_as_json(method), METHODS.identity(type(method))
    return {**described, "version": method.version} | ({"name": method.name, "origin": origin} if origin else {})
