"""Which surfaces over (n, s) the data allow, as weighted draws over several laws."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from transferscope.scaling.bootstrap import Bootstrap, bootstrap
from transferscope.scaling.fit import LawFit
from transferscope.scaling.surface import Surface

DRAWS_PER_LAW = 400
LEAST_NOISE = 1e-6


@dataclass(frozen=True)
class SurfaceDraws:
    """Weighted draws of the error surface.

    Attributes:
        refits: Bootstrap refits of each law.
        weights: Weight of each draw over all laws, shape (N,), summing to 1.
        noise: Standard deviation of the log error of a new run around each draw, shape (N,).
    """

    refits: tuple[Bootstrap, ...]
    weights: Float[np.ndarray, " N"]
    noise: Float[np.ndarray, " N"]

    def predict(self, sizes: Float[np.ndarray, "t 2"]) -> Float[np.ndarray, "N t"]:
        """The error at each (n, s) under each draw."""
        predicted: Float[np.ndarray, "N t"] = np.maximum(
            np.concatenate([one.predict(sizes) for one in self.refits]), 1e-12
        )
        return predicted

    def probability(self, happens: Float[np.ndarray, " N"]) -> float:
        """Weighted mean of an indicator of each draw."""
        return float(np.clip(self.weights @ happens, 0, 1))


def surface_draws(surface: Surface, *, per_law: int = DRAWS_PER_LAW) -> SurfaceDraws:
    """Draws of every law by bootstrap, each law with its weight beyond the measured sizes.

    A draw stands for the noise of the points; the different laws stand for not knowing the form.

    Args:
        surface: The fitted surface.
        per_law: Draws of each law.

    Returns:
        The draws. The noise of a new run around a law is the residual of its own fit with its degrees of freedom, so
        that a law that misses the points is not expected to hit the next one; at least the median standard error.
    """
    fits = {name: surface.fits[name] for name in surface.weights}
    refits = tuple(bootstrap(fit, draws=per_law) for fit in fits.values())
    weights = np.repeat(np.array([surface.weights[name] for name in fits]), per_law) / per_law
    noise = np.repeat(np.array([_noise(fit) for fit in fits.values()]), per_law)
    return SurfaceDraws(refits, weights / weights.sum(), noise)


def _noise(fit: LawFit) -> float:
    data = fit.observations
    degrees = max(len(fit.residuals) - len(fit.law.parameters), 1)
    measured = 0.0 if data.stderr is None else float(np.median(data.stderr / data.errors))
    return max(float(np.sqrt((fit.residuals**2).sum() / degrees)), measured, LEAST_NOISE)
