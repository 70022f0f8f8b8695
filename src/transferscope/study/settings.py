"""Tables of a study file that name networks and diagnostics, and so need torch; for others see `settings`."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from transferscope.diagnostics import DIAGNOSTICS, Diagnostic
from transferscope.errors import SettingsError
from transferscope.models import NetworkSettings, Pretrained
from transferscope.models.build import InputChoice, ModuleHead, ModuleOptions, is_network_name
from transferscope.records import Count, Says, check_settings
from transferscope.settings.data import DataSettings, Limit, TestLimit, Transforms
from transferscope.study.tables import Mistakes, member_of, read_table, setting_names, settings_of


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """A source: data to pretrain on, or a pretrained network.

    Raises:
        SettingsError: Not exactly one of data and a network is given, or a setting belongs to the other.
    """

    data: Annotated[str | None, Says("Name of the data", "None for a network.")] = None
    transforms: Transforms = ()
    limit: Limit = None
    test_limit: TestLimit = None
    network: Annotated[
        str | None,
        Says(
            "File of weights of the study's network, or name of a pretrained network",
            'As in "hf:FOLDER", "timm:NAME", "torchvision:NAME", "package.module:factory" or '
            '"path/to/file.py:factory".',
        ),
    ] = None
    weights: Annotated[
        str | None,
        Says("File of weights for it, or for the study's network", "None for those that its name stands for."),
    ] = None
    options: ModuleOptions = field(default_factory=dict)
    head: ModuleHead = None
    input: InputChoice = None
    least_share: Annotated[
        float, Says("Share of the numbers of a named network's backbone that the weights must give")
    ] = 1.0
    held_out: Annotated[
        dict[str, str],
        Says(
            "Further test sets with the source's labels, by name",
            'As in { A = "half-images:cifar10?parts=A" }. After transfer the source head is measured on the test '
            "part of each, transformed and scaled like the source.",
        ),
    ] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_settings(self)
        if (self.data is None) == (not self.is_network):
            seen = "both" if self.data is not None else "neither"
            raise SettingsError(f'has {seen} of data and network; give exactly one, as in data = "mnist"')
        if self.is_network and (self.transforms or self.limit or self.test_limit or self.held_out):
            raise SettingsError("is a network; transforms, limit, test_limit and held_out are for data: leave them out")
        of_named = self.options or self.head is not None or self.least_share != 1.0
        if self.data is not None and (of_named or self.input is not None):
            raise SettingsError("is data; options, head, input and least_share are for networks: leave them out")
        if self.data is None and not self.names_network and of_named:
            raise SettingsError(
                "has weights of the study's network; leave out options, head and least_share, or name its own "
                'network, as in network = "package.module:factory"'
            )
        if self.names_network:
            self.pretrained(NetworkSettings())  # whether there is such a network

    @property
    def is_network(self) -> bool:
        """Whether it is a pretrained network."""
        return self.network is not None or self.weights is not None

    @property
    def names_network(self) -> bool:
        """Whether it names a network, rather than weights of the study's network."""
        return self.network is not None and (self.weights is not None or is_network_name(self.network))

    def pretrained(self, network: NetworkSettings) -> Pretrained:
        """Return the pretrained network; raises SettingsError if the source is data, or a setting is wrong."""
        if not self.is_network:
            raise SettingsError("the source is data, not a network; give a network")
        if self.names_network:
            own = NetworkSettings(str(self.network), None, self.options, self.head, self.input)
        else:
            own = network if self.input is None else replace(network, input=self.input.over(network.input))
        weights = self.weights if self.names_network else self.weights or self.network
        return Pretrained(own, None if weights is None else Path(weights), self.least_share)

    @property
    def as_data(self) -> DataSettings | None:
        """The data; None for a network."""
        if self.data is None:
            return None
        return DataSettings(self.data, self.transforms, self.limit, self.test_limit)

    @property
    def held_out_data(self) -> dict[str, DataSettings]:
        """The further test sets by name."""
        return {name: DataSettings(data, self.transforms) for name, data in self.held_out.items()}


Moment = Literal["start", "end"]


@dataclass(frozen=True, slots=True)
class MeasurementScope:
    """The networks and examples that a diagnostic measures.

    Raises:
        SettingsError: A value is out of its range.
    """

    at: Annotated[
        tuple[Moment, ...], Says("When to measure", '"start" (before training, under the new head), "end", or both.')
    ] = ("end",)
    every: Annotated[
        Count | None, Says("Steps from one measurement to the next, start and end included", "None for those of `at`.")
    ] = None
    examples: Annotated[
        Count, Says("Examples to measure on", "The first training examples, or test examples spread evenly.")
    ] = 600
    part: Annotated[Literal["target_train", "target_test"], Says("Which examples, of target_train or target_test")] = (
        "target_train"
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if not self.at or len(set(self.at)) < len(self.at):
            raise SettingsError(f'at = {list(self.at)}; expected ["start"], ["end"] or ["start", "end"]')

    def wants(self, step: int | None) -> bool:
        """Return whether to measure the network of a step; 0 is the start and None the end."""
        if step is None:
            return "end" in self.at or self.every is not None
        return (step == 0 and "start" in self.at) or (self.every is not None and step % self.every == 0)


@dataclass(frozen=True, slots=True)
class DiagnosticSettings:
    """A diagnostic of a study."""

    diagnostic: Diagnostic
    scope: MeasurementScope

    def as_json(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        kind = type(self.diagnostic)
        settings = {name: getattr(self.diagnostic, name) for name in setting_names(kind)}
        name = DIAGNOSTICS.reference(kind)
        return {"name": name, "settings": settings, "scope": asdict(self.scope)}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """Parse settings written by `as_json`."""
        diagnostic = settings_of(DIAGNOSTICS[plain["name"]], plain["settings"])
        return cls(diagnostic, settings_of(MeasurementScope, plain["scope"]))


def read_diagnostics(given: object, mistakes: Mistakes) -> dict[str, DiagnosticSettings]:
    """Return the diagnostics of a study file, by the name of their table.

    Args:
        given: A list of names, or one table for each: its settings and those of `MeasurementScope`, and `diagnostic`
            for a table with another name.
    """
    if isinstance(given, list):
        given = {str(name): {} for name in given}
    if not isinstance(given, Mapping):
        mistakes.add('diagnostics is neither a list of names, as in ["weights", "curvature"], nor a group of tables')
        return {}
    read = {name: _read_one(str(name), table, mistakes) for name, table in given.items()}
    return {name: settings for name, settings in read.items() if settings is not None}


def _read_one(name: str, table: object, mistakes: Mistakes) -> DiagnosticSettings | None:
    where = f"[diagnostics.{name}]"
    if not isinstance(table, Mapping):
        read_table(MeasurementScope, table, where, mistakes)
        return None
    kind = member_of(DIAGNOSTICS, "diagnostic", name, table, where, mistakes)
    if kind is None:
        return None
    scope_keys = setting_names(MeasurementScope)
    scope = read_table(MeasurementScope, {k: v for k, v in table.items() if k in scope_keys}, where, mistakes)
    own = {key: value for key, value in table.items() if key not in (*scope_keys, "diagnostic")}
    diagnostic = read_table(kind, own, where, mistakes)
    return None if scope is None or diagnostic is None else DiagnosticSettings(diagnostic, scope)
