"""Questions that no law answers are refused in a sentence."""

from collections.abc import Callable

import numpy as np
import pytest

from scaling.examples import EXACT, OBJDET, SIZES
from transferscope.errors import TransferscopeError
from transferscope.scaling import Formula, advise, bootstrap, extrapolate, fit_law, fit_surface, observe
from transferscope.scaling.advice.costs import Costs
from transferscope.scaling.advice.label_plan import draw_curve, label_grid
from transferscope.scaling.laws import law_named

ONE_SIZE = observe([20, 20], [0.3, 0.31])
NO_COST = ("", "N", "6*N", "N-D", "__import__('os')", "N.real*D", "6*N*D*x", "1/N*D", "f(N)", "N D")
CASES: list[tuple[str, Callable[[], object]]] = [
    ("1 different pretraining size", lambda: advise([1000], [0.5])),
    ("target_error = -1.0", lambda: advise(SIZES, OBJDET, target_error=-1.0)),
    ("costs = (-1.0, 0.0, 0.0)", lambda: Costs(-1.0)),
    ("10 draws of a fit with status too_few", lambda: bootstrap(fit_law(SIZES[:3], EXACT[:3]), draws=10)),
    ("size to predict at = 1", lambda: extrapolate(SIZES, EXACT, at=[1])),
    ("no row has a size and an error above 0", lambda: extrapolate(SIZES, np.zeros(7), at=[1e6])),
    ("sizes are not all numbers", lambda: fit_law(["many", "few"], [0.1, 0.2])),
    ("unknown parameter of the law power+floor 'd'", lambda: fit_law(SIZES, EXACT, fixed={"d": 0.48})),
    ("the law full needs 2 size(s)", lambda: fit_law(SIZES, EXACT, law="full")),
    ("did you mean 'power+floor'", lambda: law_named("powerfloor")),
    ("3 points with 3 and 1", lambda: fit_surface([1e3, 2e3, 4e3], [100] * 3, [0.5, 0.4, 0.3])),
    (
        "8 points with 1 and 4",
        lambda: fit_surface([0] * 4 + [1e3] * 4, [50, 100, 200, 400] * 2, np.linspace(0.5, 0.1, 8)),
    ),
    ("8 points with 4 and 1", lambda: fit_surface([0] * 4 + list(SIZES[:4]), [1, 2, 3, 4] + [9] * 4, np.ones(8) / 9)),
    ("but there are 1", lambda: draw_curve(ONE_SIZE, label_grid([ONE_SIZE]))),
    *(("expected", lambda text=text: Formula(text)) for text in NO_COST),
]


@pytest.mark.parametrize(("said", "ask"), CASES)
def test_it_is_refused(said: str, ask: Callable[[], object]) -> None:
    with pytest.raises(TransferscopeError) as refused:
        ask()
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
