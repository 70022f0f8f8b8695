"""What a figure of theory against simulation consists of: lines and maps that are computed, points that are simulated.

A figure is a frozen dataclass whose fields are its settings. Its points are simulated one at a time, so that a study of
them can stop and resume anywhere; everything about the theory is instant.
"""

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64

from transferscope.errors import SettingsError, unknown_name
from transferscope.records import Estimate
from transferscope.theory.simulate.agreement import Agreement, agreement


@dataclass(frozen=True)
class Panel:
    """One coordinate system of a figure.

    Attributes:
        name: What points and lines call it.
        title: Above it.
        x_label: Below it, with the unit.
        y_label: Beside it, with the unit.
        x_log: Whether x is drawn logarithmically.
        y_log: Whether y is drawn logarithmically.
        y_limits: Range of y that is shown; None for all.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    x_log: bool = False
    y_log: bool = False
    y_limits: tuple[float, float] | None = None


@dataclass(frozen=True)
class Curve:
    """A theoretical line.

    Attributes:
        panel: Where it is drawn.
        series: What it is; points of the same series have its colour.
        x: Shape (k,).
        y: Shape (k,); infinite values leave a gap.
        dashed: Whether it is drawn dashed: a printed formula beside the corrected one, a bound, a limit.
    """

    panel: str
    series: str
    x: Float64[np.ndarray, "k"]
    y: Float64[np.ndarray, "k"]
    dashed: bool = False


@dataclass(frozen=True)
class Diagram:
    """A theoretical map of two parameters, blue where positive and red where negative, with the boundary drawn.

    Attributes:
        panel: Where it is drawn.
        x: Shape (p,), increasing.
        y: Shape (q,), increasing.
        values: Shape (q, p).
        limit: Values beyond plus or minus this have the full colour.
    """

    panel: str
    x: Float64[np.ndarray, "p"]
    y: Float64[np.ndarray, "q"]
    values: Float64[np.ndarray, "q p"]
    limit: float = 1.0


@dataclass(frozen=True)
class Point:
    """One simulated point, before it is simulated.

    Attributes:
        panel: Where it is drawn.
        series: What it is.
        x: Where it lies.
        expected: What theory says, NaN if it is not to be compared.
        parameters: What the simulation needs to know, numbers by name.
        y: Its height in a diagram, where colour shows the value; None in a coordinate system of values.
        group: Points of one group come out of one simulation (see `SharingFigure`); None for a simulation of its own.
    """

    panel: str
    series: str
    x: float
    expected: float
    parameters: Mapping[str, float] = field(default_factory=dict)
    y: float | None = None
    group: str | None = None

    @property
    def seed(self) -> int:
        """First random seed of the point: a function of what and where it is, so that points are independent."""
        place = f"{self.panel}/{self.series}/{self.x!r}/{self.y!r}"
        return zlib.crc32(place.encode()) % 1_000_000 * 1000


@dataclass(frozen=True)
class Simulated:
    """A point and what its simulation came to."""

    point: Point
    estimate: Estimate


@dataclass(frozen=True)
class Theory:
    """What a figure shows before anything is simulated."""

    panels: tuple[Panel, ...]
    curves: tuple[Curve, ...] = ()
    diagrams: tuple[Diagram, ...] = ()


@runtime_checkable
class TheoryFigure(Protocol):
    """A published figure, regenerated.

    Implementations are frozen dataclasses; every field is a number that a reader may set.

    Class attributes:
        name: What it is called on the command line.
        title: What it shows, with paper and number.
        version: Part of the key of its points; raise it when results change.
        quick: Settings of the quick profile; the defaults are the full one.
        known_error: Largest systematic difference of theory and simulation (finite size, step size), in the unit of the
            values; distances are shortened by it before they are scored. 0 where the comparison is exact.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    version: ClassVar[int]
    quick: ClassVar[Mapping[str, float]]
    known_error: ClassVar[float]

    def theory(self) -> Theory:
        """Lines and maps; takes seconds at most."""
        ...

    def points(self) -> tuple[Point, ...]:
        """The points to simulate."""
        ...

    def simulate(self, point: Point) -> Estimate:
        """Simulate one point: the mean over seeds."""
        ...


@runtime_checkable
class SharingFigure(TheoryFigure, Protocol):
    """A figure of which one simulation gives several points, those of a group; its seed is that of the first."""

    def simulate_group(self, points: Sequence[Point]) -> Sequence[Estimate]:
        """Simulate once: an estimate for each point of a group, in their order among the figure's points."""
        ...


@dataclass(frozen=True)
class Conclusion:
    """What can be said of a figure only after its points are there.

    Attributes:
        sentence: For the reader.
        curves: Lines that rest on simulated points, such as a fitted boundary.
        diagrams: Maps that do.
    """

    sentence: str
    curves: tuple[Curve, ...] = ()
    diagrams: tuple[Diagram, ...] = ()


@runtime_checkable
class ConcludingFigure(TheoryFigure, Protocol):
    """A figure that draws a conclusion of its own."""

    def conclude(self, simulated: Sequence[Simulated]) -> Conclusion:
        """The conclusion, from the points that are there."""
        ...


def configure(figure: TheoryFigure, *, quick: bool, changes: Mapping[str, str]) -> TheoryFigure:
    """A figure in one of its profiles, with settings changed.

    Args:
        figure: Which, with the settings of the full profile.
        quick: Whether to take the quick profile.
        changes: New values by name, as text.

    Returns:
        The figure.

    Raises:
        UnknownNameError: The figure has no such setting.
        SettingsError: A value is no number, or out of range.
    """
    known = {item.name: item.type for item in fields(figure)}  # type: ignore[arg-type]
    values: dict[str, Any] = dict(figure.quick) if quick else {}
    for name, text in changes.items():
        if name not in known:
            raise unknown_name(f"setting of {figure.name}", name, known)
        values[name] = _number(name, text, known[name])
    changed = replace(figure, **values)  # type: ignore[type-var]
    if changes:
        _check_points(changed)
    return changed


def settings_of(figure: TheoryFigure) -> dict[str, float]:
    """The settings of a figure by name."""
    return {item.name: getattr(figure, item.name) for item in fields(figure)}  # type: ignore[arg-type]


def conclude(figure: TheoryFigure, simulated: Sequence[Simulated]) -> Conclusion:
    """How theory and simulation agree, in a sentence or two, and the lines that rest on the simulation.

    Args:
        figure: The figure.
        simulated: Its points.

    Returns:
        Z-scores in words, followed by the figure's own conclusion if it has one.
    """
    scored = any(not np.isnan(item.point.expected) for item in simulated)
    sentences = [agreement_of(figure, simulated).sentence] if scored else []
    if not isinstance(figure, ConcludingFigure):
        return Conclusion("\n".join(sentences))
    own = figure.conclude(simulated)
    return replace(own, sentence="\n".join([*sentences, own.sentence]))


def agreement_of(figure: TheoryFigure, simulated: Sequence[Simulated]) -> Agreement:
    """How far the simulated points scatter around theory, in standard errors."""
    compared = [item for item in simulated if not np.isnan(item.point.expected)]
    estimates = [item.estimate for item in compared]
    expected = [item.point.expected for item in compared]
    return agreement(estimates, expected, known_error=figure.known_error)


_MAY_BE_ZERO = ("draw",)


def _number(name: str, text: str, kind: object) -> float:
    whole = kind is int
    try:
        value = int(text) if whole else float(text)
    except ValueError:
        expected = "a whole number" if whole else "a number"
        raise SettingsError(f"{name} = {text!r} cannot be read; expected {expected}, as in {name}=2") from None
    least = 0 if name in _MAY_BE_ZERO else 1
    if whole and value < least:
        raise SettingsError(f"{name} = {text} is out of range; expected a whole number of at least {least}")
    if not math.isfinite(value):
        raise SettingsError(f"{name} = {text} is out of range; expected a finite number")
    return value


def _check_points(figure: TheoryFigure) -> None:
    """Let settings that leave a figure without sense be refused before anything is simulated."""
    try:
        figure.points()
    except SettingsError as error:
        raise SettingsError(f"{figure.name} makes no sense with these settings: {error}") from error
