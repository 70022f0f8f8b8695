"""Figures 3 and 7 of the Syn2Real paper: scenarios of the law, and images with each set of attributes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from transferscope.estimate import Estimate
from transferscope.numerics.intervals import t_interval
from transferscope_papers import figure as fig
from transferscope_papers.mikami2021.entropy import negative_entropy
from transferscope_papers.mikami2021.rows import RENDERINGS, SCENES, rendering_pairs
from transferscope_papers.sources.scenes import SceneSettings, scenes

_FIRST, _FIRST_ERROR, _WANTED, _FEASIBLE = 1e3, 0.3, 0.1, 1e6
_SCENARIOS = {
    "b": ("low C, high alpha", 0.5, 0.03),
    "c": ("C above what is wanted", 0.5, 0.15),
    "d": ("low alpha", 0.13, 0.0),
}
"""Title, alpha and C of each; 30 % error at first and 10 % wanted are those of section 3.3."""


@dataclass(frozen=True)
class ScenariosFigure(fig.TheoryFigure):
    """Figure 3: the effect of more images from 70 % accuracy towards 90 %, by rate and transfer gap."""

    name: ClassVar[str] = "mikami2021-fig3"

    def theory(self) -> fig.Theory:
        """Return the law (1) from the initial error on, and the target error."""
        n = np.geomspace(_FIRST, 1e7, 121)
        panels = [fig.Panel("a", "measured", "Pretraining images n", "Target error", x_log=True, y_limits=(0, 0.35))]
        curves = [fig.Curve("a", "law", n[:2], np.full(2, _FIRST_ERROR)), self._wanted("a", n)]
        for name, (title, alpha, C) in _SCENARIOS.items():
            panels.append(
                fig.Panel(name, title, "Pretraining images n", "Target error", x_log=True, y_limits=(0, 0.35))
            )
            law = C + (_FIRST_ERROR - C) * (n / _FIRST) ** -alpha
            curves += [fig.Curve(name, "law", n, law), self._wanted(name, n)]
        return fig.Theory(tuple(panels), tuple(curves))

    def _wanted(self, panel: str, n: np.ndarray) -> fig.Curve:
        return fig.Curve(panel, "wanted", n, np.full(len(n), _WANTED), dashed=True)

    def points(self) -> tuple[fig.Point, ...]:
        """Return no points: nothing is simulated."""
        return ()

    def simulate(self, points: Sequence[fig.Point]) -> tuple[Estimate, ...]:
        """Raise NotImplementedError: nothing is simulated."""
        raise NotImplementedError

    def claims(self) -> tuple[fig.Claim, ...]:
        """Return claims on which scenario reaches the target error, and where."""
        source = "mikami2021, section 3.3 and Figure 3"
        return (
            fig.Claim(
                "(b) more images lead to the wanted accuracy",
                source,
                lambda drawn: _FIRST < _reached(drawn, "b") < _FEASIBLE,
            ),
            fig.Claim("(c) no number of images does", source, lambda drawn: math.isinf(_reached(drawn, "c"))),
            fig.Claim(
                "(d) it takes a number of images that is out of reach",
                source,
                lambda drawn: _FEASIBLE < _reached(drawn, "d") < math.inf,
            ),
        )


def _reached(drawn: fig.Drawn, panel: str) -> float:
    """Return the smallest n at which the law reaches the target error; infinite if none."""
    law, wanted = drawn.line(panel, "law"), drawn.line(panel, "wanted", dashed=True)
    below = law.x[law.y <= wanted.y]
    return float(below[0]) if len(below) else math.inf


_SHOWN, _PIXELS = 6, 32
_TEXTURES = ("without texture", "with texture")
_STEPS = "1 single, 2 several, 3 + light, 4 + background"


@dataclass(frozen=True)
class RenderingsFigure(fig.TheoryFigure):
    """Figure 7 with rendered solids in place of the paper's objects: the same scenes with each set of attributes.

    A second panel tests the claim of section 4.5 that the negative entropy falls with their complexity, with a Gaussian
    fitted to the pixels; the paper fits it to features of a network trained on COCO.
    """

    name: ClassVar[str] = "mikami2021-fig7"

    n: int = fig.setting(1000, fig.Range(50, 20_000), quick=300)
    seeds: int = fig.setting(10, fig.SEEDS, quick=3)

    def theory(self) -> fig.Theory:
        """Return images, one row per set of attributes."""
        panels = (
            fig.Panel("images", "Scenes", "scene", "1 to 4, each without and with texture"),
            fig.Panel("entropy", "Complexity of pixels", _STEPS, "negative entropy (nats per number)"),
        )
        rows = [1 - scenes(_SHOWN, _settings(name, _PIXELS), seed=0).inputs.mean(axis=1) / 255 for name in RENDERINGS]
        values = np.concatenate([np.concatenate(list(row), axis=1) for row in rows])
        x, y = (0.5 + (np.arange(size) + 0.5) / _PIXELS for size in values.shape[::-1])
        y = 0.75 + (y - 0.5) / 2  # rows without and with texture lie around the number of attributes
        return fig.Theory(panels, (), (fig.Diagram("images", x, y, values, shows="darkness", colours="Greys"),))

    def points(self) -> tuple[fig.Point, ...]:
        """Return the negative entropy of each set."""
        return tuple(_place(name) for name in RENDERINGS)

    def simulate(self, points: Sequence[fig.Point]) -> tuple[Estimate, ...]:
        """Return means over seeds, of `n` scenes of 8 x 8 pixels in colour."""
        names = {_place(name).seed: name for name in RENDERINGS}
        means = []
        for point in points:
            made = (scenes(self.n, _settings(names[point.seed], 8), seed=seed).inputs for seed in range(self.seeds))
            entropies = [negative_entropy(pixels.reshape(self.n, -1) / 255) / pixels[0].size for pixels in made]
            means.append(t_interval(np.array(entropies)))
        return tuple(means)

    def claims(self) -> tuple[fig.Claim, ...]:
        """Return claims that entropy rises with the attributes, except light, which also darkens."""
        return tuple(
            fig.Claim(
                f"the negative entropy falls with {words} in most pairs that differ in it alone",
                "mikami2021, section 4.5",
                lambda drawn, attributes=attributes: _falling(drawn, attributes) > 0.5,  # type: ignore[misc]
                reason,
            )
            for words, attributes, reason in (
                ("appearance, background or texture", ("several", "background", "texture"), ""),
                (
                    "random light",
                    ("light",),
                    "Random light also darkens, and entropy of pixels counts their scale; features of a network, as in "
                    "the paper, need not.",
                ),
            )
        )


def _place(name: str) -> fig.Point:
    own = RENDERINGS[name]
    return fig.Point("entropy", _TEXTURES["texture" in own], 1 + sum(one != "texture" for one in own))


def _settings(name: str, size: int) -> SceneSettings:
    return SceneSettings(size=size, **dict(SCENES[attribute] for attribute in RENDERINGS[name]))  # type: ignore[arg-type]


def _falling(drawn: fig.Drawn, attributes: tuple[str, ...]) -> float:
    """Return the share of pairs differing only in one of these attributes in which the value falls with it."""
    places = {name: _place(name) for name in RENDERINGS}
    entropies = {name: drawn.points("entropy", at.series)[at.x].value for name, at in places.items()}
    falls = [entropies[more] < entropies[few] for added, few, more in rendering_pairs() if added in attributes]
    return sum(falls) / len(falls)
