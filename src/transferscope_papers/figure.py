"""Figures of theory against simulation: computed lines and maps, and simulated points.

A figure is a frozen dataclass, a member of `TheoryFigure`, whose fields are its settings. Its points are simulated
group by group, so that a study of them can stop and resume anywhere; the theory is computed at once.
"""

import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float64

from transferscope.errors import SettingsError, out_of_range, unknown_name
from transferscope.estimate import Estimate
from transferscope_papers.made import ClaimSeen
from transferscope_papers.simulate.agreement import Agreement, agreement


@dataclass(frozen=True)
class Panel:
    """One pair of axes of a figure.

    Attributes:
        x_label: Label with its unit, as is `y_label`.
        y_limits: Range of y that is shown; None for all.
        shares: Whether points are shares of `Estimate.n` trials, whose error bars end at 0 and 1.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    x_log: bool = False
    y_log: bool = False
    y_limits: tuple[float, float] | None = None
    shares: bool = False


@dataclass(frozen=True)
class Curve:
    """A theoretical line.

    Attributes:
        series: Name in the legend; points of the same series have its colour.
        y: Shape (k,); infinite values and NaN leave a gap.
        dashed: Whether it is drawn dashed: a printed formula beside the corrected one, a bound, a limit.
    """

    panel: str
    series: str
    x: Float64[np.ndarray, " k"]
    y: Float64[np.ndarray, " k"]
    dashed: bool = False


TRANSFERABILITY = "transferability"


@dataclass(frozen=True)
class Diagram:
    """A map of two parameters, blue where positive and red where negative, with the boundary drawn; or a matrix.

    Attributes:
        x: Shape (p,), increasing.
        y: Shape (q,), increasing.
        limit: Values beyond plus or minus this have the full colour.
        shows: Name of the values. Values other than transferability are a matrix, at least 0, drawn from light to dark
            with the first row on top.
        colours: Colour map of matplotlib, for a matrix.
    """

    panel: str
    x: Float64[np.ndarray, " p"]
    y: Float64[np.ndarray, " q"]
    values: Float64[np.ndarray, "q p"]
    limit: float = 1.0
    shows: str = TRANSFERABILITY
    colours: str = "viridis_r"


@dataclass(frozen=True)
class Point:
    """A point to simulate.

    Attributes:
        expected: Value by theory; NaN if it is not compared.
        parameters: Parameters of the simulation by name.
        y: Ordinate in a diagram, where colour shows the value; None in other panels.
        group: Points of one group share a simulation; None for a simulation of its own.
    """

    panel: str
    series: str
    x: float
    expected: float = math.nan
    parameters: Mapping[str, float] = field(default_factory=dict)
    y: float | None = None
    group: str | None = None

    @property
    def seed(self) -> int:
        """First random seed of the point: a hash of its identity, so that points are independent."""
        place = f"{self.panel}/{self.series}/{self.x!r}/{self.y!r}"
        return zlib.crc32(place.encode()) % 1_000_000 * 1000


@dataclass(frozen=True)
class Simulated:
    """A point and its simulated estimate."""

    point: Point
    estimate: Estimate


def simulated_means(simulated: Sequence[Simulated], panel: str, series: str) -> dict[float, Estimate]:
    """Return the simulated estimates of a series by x, in the order of the points."""
    own = (item for item in simulated if (item.point.panel, item.point.series) == (panel, series))
    return {item.point.x: item.estimate for item in own}


@dataclass(frozen=True)
class Theory:
    """The content of a figure that needs no simulation."""

    panels: tuple[Panel, ...]
    curves: tuple[Curve, ...] = ()
    diagrams: tuple[Diagram, ...] = ()


@dataclass(frozen=True)
class Drawn:
    """The complete content of a figure, on which its claims are checked.

    Attributes:
        theory: Lines and maps, including those of the conclusion.
        planned: All points of the figure.
        sentence: Agreement of theory and simulation, and conclusions.
    """

    theory: Theory
    simulated: tuple[Simulated, ...]
    planned: tuple[Point, ...]
    sentence: str = ""

    def line(self, panel: str, series: str, *, dashed: bool = False) -> Curve:
        """Return the line of a series; raises LookupError if there is none."""
        for curve in self.theory.curves:
            if (curve.panel, curve.series, curve.dashed) == (panel, series, dashed):
                return curve
        raise LookupError(f"{panel} has no line {series}")

    def map(self, panel: str) -> Diagram:
        """Return the map of a panel; raises LookupError if there is none."""
        for diagram in self.theory.diagrams:
            if diagram.panel == panel:
                return diagram
        raise LookupError(f"{panel} has no map")

    def points(self, panel: str, series: str) -> dict[float, Estimate]:
        """Return the simulated points of a series by x, ascending; raises LookupError if one lacks a value."""
        estimates = simulated_means(self.simulated, panel, series)
        n_planned = sum((point.panel, point.series) == (panel, series) for point in self.planned)
        if len(estimates) < max(n_planned, 1) or any(
            not math.isfinite(estimate.value) for estimate in estimates.values()
        ):
            raise LookupError(f"points of {series} in {panel} are missing")
        return dict(sorted(estimates.items()))

    def lower(
        self, panel: str, first: str, second: str, *, at: Collection[float] | None = None, times: float = 1.0
    ) -> bool:
        """Return whether the simulated means of `first` lie below those of `second`.

        Args:
            at: Values of x to compare; None for all of `first`.
            times: Factor by which the means of `first` must be lower.

        Raises:
            LookupError: A point is missing.
        """
        low, high = self.points(panel, first), self.points(panel, second)
        return all(times * low[x].value < high[x].value for x in (low if at is None else at))

    def signs_agree(self, panel: str) -> bool:
        """Return whether every simulated mean with a clear sign (`clear_sign`) has the sign of theory.

        Raises:
            LookupError: Points are missing, or none has a clear sign.
        """
        if len(self.simulated) < len(self.planned):
            raise LookupError("simulated points are missing")
        pairs = [(item.point.expected, item.estimate) for item in self.simulated if item.point.panel == panel]
        clear = [(expected, mean.value) for expected, mean in pairs if clear_sign(mean)]
        if not clear:
            raise LookupError(f"{panel} has no point with a clear sign")
        return all(expected * value > 0 for expected, value in clear)


def clear_sign(mean: Estimate) -> bool:
    """Return whether a simulated mean is more than three standard errors from 0."""
    return bool(mean.stderr) and abs(mean.value) > 3 * (mean.stderr or math.inf)


@dataclass(frozen=True)
class Conclusion:
    """Conclusions that need the simulated points.

    Attributes:
        curves: Lines that depend on simulated points, such as a fitted boundary.
    """

    sentence: str
    curves: tuple[Curve, ...] = ()
    diagrams: tuple[Diagram, ...] = ()


@dataclass(frozen=True)
class Claim:
    """A claim of a paper about a figure, as a check of the figure.

    Attributes:
        source: Paper, and section or figure, of the claim.
        check: Returns whether it holds; raises LookupError if the figure lacks the data.
        exception: Reason why it need not hold, or cannot be checked, with these settings, in a sentence; "" if it must
            hold.
        told: Whether the figure with these settings can decide it.
    """

    sentence: str
    source: str
    check: Callable[[Drawn], bool]
    exception: str = ""
    told: bool = True


@dataclass(frozen=True)
class Range:
    """Closed range of a setting in which a figure can be computed and its simulation ends."""

    low: float
    high: float


D = Range(2, 5000)
"""Number of inputs: matrices of d x d for each seed."""
SEEDS = Range(1, 10_000)
SIGMA = Range(0, 1)
"""Label noise, in units of the target's norm: above 1 gradient descent on deep networks does not converge in reasonable
time."""
DEPTH = Range(1, 8)
NORM = Range(0.1, 10)
"""Norm of a teacher in units of the other's."""


def setting(full: float, allowed: Range, *, quick: float | None = None) -> Any:
    """Return a setting of a figure, for the default of a dataclass field.

    Args:
        full: Value in the full profile, that of the paper.
        allowed: Range in which the simulation ends.
        quick: Value in the quick profile; None for the same.
    """
    metadata = {"allowed": allowed, "quick": full if quick is None else quick}
    return field(default=full, metadata=metadata)


@dataclass(frozen=True)
class TheoryFigure(ABC):
    """A reproduced figure of a paper.

    A member is a frozen dataclass whose fields are numeric settings, each made by `setting`. It defines the lines and
    maps (`theory`), the points to simulate (`points`), their simulation (`simulate`) and the claims of the paper
    (`claims`).

    Class attributes:
        name: PAPER-FIGURE, the key of `catalogue.FIGURES` and the name of its files.
        version: Part of the key of its points; raise it when results change.
        known_error: Largest systematic difference of theory and simulation (finite size, step size), in the unit of the
            values; it is subtracted from distances before they are scored. 0 for an exact comparison.
        known_share: A further error as a share of the value by theory, added to it.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    known_error: ClassVar[float] = 0.0
    known_share: ClassVar[float] = 0.0

    @abstractmethod
    def theory(self) -> Theory:
        """Return lines and maps, within seconds."""

    @abstractmethod
    def points(self) -> tuple[Point, ...]:
        """Return the points to simulate."""

    @abstractmethod
    def simulate(self, points: Sequence[Point]) -> tuple[Estimate, ...]:
        """Return the means over seeds of the points of a group; a shared simulation uses the seed of the first."""

    @abstractmethod
    def claims(self) -> tuple[Claim, ...]:
        """Return the claims of the paper that the figure tests, at least one."""

    def conclude(self, simulated: Sequence[Simulated]) -> Conclusion:
        """Return conclusions from the points beyond their agreement with theory; none unless overridden."""
        return Conclusion("")

    @property
    def settings(self) -> dict[str, float]:
        """The settings by name."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @property
    def ranges(self) -> dict[str, Range]:
        """The range of each setting."""
        return {item.name: item.metadata["allowed"] for item in fields(self)}

    def configured(self, *, quick: bool, changes: Mapping[str, str]) -> "TheoryFigure":
        """Return the figure in one of its profiles, with settings changed.

        Args:
            changes: New values by name, as text.

        Raises:
            UnknownNameError: The figure has no such setting.
            SettingsError: A value is not a number, or out of range.
        """
        known = {item.name: item for item in fields(self)}
        values: dict[str, Any] = {name: item.metadata["quick"] for name, item in known.items()} if quick else {}
        for name, text in changes.items():
            if name not in known:
                raise unknown_name(f"setting of {self.name}", name, known)
            values[name] = _number(name, text, known[name].type, self.ranges[name])
        changed = replace(self, **values)
        if changes:
            changed._check_before_simulation()
        return changed

    def groups(self) -> list[list[Point]]:
        """Return the points grouped by simulation, in the order of the first of each group."""
        groups: dict[str, list[Point]] = {}
        for i, point in enumerate(self.points()):
            groups.setdefault(point.group or f"alone {i}", []).append(point)
        return list(groups.values())

    def agreement(self, simulated: Sequence[Simulated]) -> Agreement:
        """Return the scatter of the simulated points around theory, in standard errors."""
        compared = [item for item in simulated if not np.isnan(item.point.expected)]
        estimates = [item.estimate for item in compared]
        expected = [item.point.expected for item in compared]
        return agreement(estimates, expected, known_error=[self.error_at(item.point) for item in compared])

    def error_at(self, point: Point) -> float:
        """Return the largest systematic difference of theory and simulation at a point."""
        return self.known_error + self.known_share * abs(point.expected)

    def drawn(self, simulated: Sequence[Simulated]) -> Drawn:
        """Return the complete figure from simulated points."""
        theory, planned = self.theory(), self.points()
        if not simulated:
            return Drawn(theory, (), planned, "theory only: nothing is simulated")
        own = self.conclude(simulated)
        theory = replace(theory, curves=(*theory.curves, *own.curves), diagrams=(*theory.diagrams, *own.diagrams))
        scored = any(not np.isnan(item.point.expected) for item in simulated)
        sentences = [self.agreement(simulated).sentence if scored else "", own.sentence]
        return Drawn(theory, tuple(simulated), planned, "\n".join(filter(None, sentences)))

    def check(self, drawn: Drawn) -> tuple[ClaimSeen, ...]:
        """Check every claim of the figure, where the figure can decide it."""
        checked = []
        for claim in self.claims():
            holds, reason = None, claim.exception
            try:
                holds = bool(claim.check(drawn)) if claim.told else None
            except LookupError:
                reason = "Points are missing."
            checked.append(ClaimSeen(claim.sentence, claim.source, holds, reason))
        return tuple(checked)

    def unlike_the_paper(self, *names: str, says: str = "The paper has") -> str:
        """Return why a claim about the settings of the paper may fail: `names` that differ here; "" if none."""
        changed = [
            f"{item.name} = {item.default:.4g} where it is {getattr(self, item.name):.4g} here"
            for item in fields(self)
            if item.name in names and getattr(self, item.name) != item.default
        ]
        return f"{says} {' and '.join(changed)}." if changed else ""

    def _check_before_simulation(self) -> None:
        """Refuse settings that need too much memory or make the figure meaningless."""
        values = self.settings
        size = values.get("seeds", 1) * values.get("d", 1) ** 2
        if size > _LARGEST_BATCH:
            raise SettingsError(
                f"{self.name} with d = {values['d']:,} and seeds = {values['seeds']:,} needs {8 * size / 1e9:.0f} GB "
                "for each point; expected at most 4 GB: make d or seeds smaller"
            )
        try:
            self.points()
        except SettingsError as error:
            raise SettingsError(f"the settings of {self.name} are invalid: {error}") from error


_LARGEST_BATCH = 500_000_000
"""Numbers in the matrices of one point, seeds x d x d: 4 GB."""
_SHOWN_LETTERS = 30


def _number(name: str, text: str, kind: object, range_: Range) -> float:
    whole, shown = kind is int, text if len(text) <= _SHOWN_LETTERS else f"{text[:_SHOWN_LETTERS]}..."
    expected = "a whole number" if whole else "a number"
    try:
        value = int(text) if whole else float(text)
    except ValueError:
        raise SettingsError(f"{name} = {shown!r}; expected {expected}, as in {name}=2") from None
    if not range_.low <= value <= range_.high:
        ends = f"{range_.low:,.6g} to {range_.high:,.6g}"
        raise out_of_range(name, shown, f"{expected} from {ends}")
    return value
