"""Bootstrap of a fit, all draws in one solve."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from transferscope.errors import SettingsError
from transferscope.scaling.fit import LawFit
from transferscope.scaling.laws import Law
from transferscope.scaling.solve import QUICK, solve


@dataclass(frozen=True)
class Bootstrap:
    """Refits of a law to resampled errors."""

    law: Law
    errors: Float[np.ndarray, "B m"]
    theta: Float[np.ndarray, "B p"]

    def predict(self, sizes: Float[np.ndarray, " t *v"]) -> Float[np.ndarray, "B t"]:
        """Return the law at `sizes`, shape (t,) or (t, v), under each draw."""
        return self.law.value(sizes[:, None] if sizes.ndim == 1 else sizes, self.theta)


def bootstrap(fit: LawFit, *, draws: int = 1000, seed: int = 0) -> Bootstrap:
    """Refit the law to its own curve with new noise.

    With standard errors, the noise is normal with them. Without, residuals are drawn again (with replacement, centred,
    times sqrt(m / (m - p)) for the degrees of freedom that the fit has used).

    Args:
        fit: A fit with status "converged" or "max_steps".
        draws: How many, at least 1.

    Raises:
        SettingsError: There is no fit to resample, or `draws` is below 1.
    """
    if fit.solved is None or draws < 1:
        raise SettingsError(
            f"a bootstrap of {draws} draws of a fit with status {fit.status} is impossible; expected at least one "
            "draw, and more sizes than free parameters"
        )
    problem, _ = fit.solved
    curve = fit.law.value(problem.x, fit.theta[None])
    generator, data, m = np.random.default_rng(seed), fit.observations, len(fit.residuals)
    if data.stderr is not None:
        noise = (data.stderr if fit.loss == "linear" else data.stderr / data.errors) * generator.standard_normal(
            (draws, m)
        )
    else:
        n_free = len(fit.law.parameters) - len(fit.fixed)
        residuals = (fit.residuals - fit.residuals.mean()) * np.sqrt(m / max(m - n_free, 1))
        noise = generator.choice(residuals, (draws, m))
    errors = curve + noise if fit.loss == "linear" else curve * np.exp(noise)
    resampled = replace(problem.take(np.zeros(draws, dtype=int)), y=errors)
    return Bootstrap(fit.law, errors, solve(resampled, QUICK).theta)
