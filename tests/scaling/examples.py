"""Curves with known answers, shared by the tests of scaling laws."""

import numpy as np

SIZES = 1000.0 * 2.0 ** np.arange(7)

EXACT = 0.48 * SIZES**-0.45 + 0.93
"""alpha = 0.45, D = 0.48, C = 0.93 without noise."""

OBJDET = np.array([0.957506, 0.953373, 0.947123, 0.945533, 0.943210, 0.940267, 0.937656])
"""Published errors of objdet to objdet, ResNet-50, rounded: a curve that does not determine alpha and C."""

GRID_N, GRID_S = (axis.ravel() for axis in np.meshgrid(1000.0 * 4.0 ** np.arange(4), 2000.0 * 4.0 ** np.arange(4)))
GRID = np.stack([GRID_N, GRID_S], axis=1)
