"""Curves with known answers, shared by the tests of scaling laws."""

import numpy as np
import pandas as pd

from transferscope.scaling import Surface, fit_law, observe
from transferscope.scaling.surface import HeldOutScore

SIZES = 1000.0 * 2.0 ** np.arange(7)

EXACT = 0.48 * SIZES**-0.45 + 0.93
"""alpha = 0.45, D = 0.48, C = 0.93 without noise."""

OBJDET = np.array([0.957506, 0.953373, 0.947123, 0.945533, 0.943210, 0.940267, 0.937656])
"""Published errors of objdet to objdet, ResNet-50, rounded: a curve that does not determine alpha and C."""

GRID_N, GRID_S = (axis.ravel() for axis in np.meshgrid(1000.0 * 4.0 ** np.arange(4), 2000.0 * 4.0 ** np.arange(4)))
GRID = np.stack([GRID_N, GRID_S], axis=1)


def product_surface(errors: np.ndarray, sizes: np.ndarray = GRID) -> Surface:
    """A surface of the product law alone, log f = log D - alpha log n - beta log s, without held-out scores."""
    fit = fit_law(sizes, errors, law="product")
    return Surface({"product": fit}, {"product": HeldOutScore(0.0, 0.0)}, {"product": 1.0}, observe(sizes, errors), ())


def language_models(seed: int = 0, m: int = 80) -> pd.DataFrame:
    """Losses of models of free sizes on free numbers of tokens, with the parameters of Besiroglu et al. 2024."""
    generator = np.random.default_rng(seed)
    params = np.exp(generator.uniform(np.log(5e7), np.log(1.6e10), m))
    tokens = params * np.exp(generator.uniform(np.log(1), np.log(150), m))
    loss = 1.8172 + 482.01 * params**-0.3478 + 2085.43 * tokens**-0.3658
    return pd.DataFrame(
        {"params": params, "tokens": tokens, "loss": loss * np.exp(0.002 * generator.standard_normal(m))}
    )
