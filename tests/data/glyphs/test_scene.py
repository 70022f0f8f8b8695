"""Parts of a picture, by what their draws mean."""

import numpy as np

from transferscope.data.glyphs.layer import make_canvas
from transferscope.data.glyphs.scene import N_WAVES, backgrounds, n_background_draws


def test_grain_is_symmetric_about_the_waves() -> None:
    """Draws of 1/2 are no grain, so that its strength says nothing."""
    canvas = make_canvas(8)
    draws = np.random.default_rng(0).random((5, n_background_draws(8)))
    draws[:, -64:] = 0.5
    weak, strong = draws.copy(), draws.copy()
    weak[:, 6 + 3 * N_WAVES], strong[:, 6 + 3 * N_WAVES] = 0.0, 1.0
    np.testing.assert_array_equal(backgrounds(weak, 3, canvas), backgrounds(strong, 3, canvas))
