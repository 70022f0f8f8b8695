"""Points that are trained together are trained as if alone."""

import pytest

from transferscope_papers.catalogue import FIGURES


@pytest.mark.long
def test_a_point_does_not_see_those_that_are_trained_with_it() -> None:
    figure = FIGURES["tahir2024-fig1"].configured(quick=True, changes={"d": "20", "seeds": "4"})
    group = figure.groups()[0][:5:4]
    together = figure.simulate(group)
    for point, mean in zip(group, together, strict=True):
        alone = figure.simulate([point])[0]
        assert (alone.status, alone.n) == (mean.status, 4)
        assert mean.value == pytest.approx(alone.value, rel=1e-9)
