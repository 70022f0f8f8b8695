"""What every diagnostic promises, tried on all of them."""

from dataclasses import replace

import pytest

from transferscope.diagnostics import DIAGNOSTICS, Diagnostic
from transferscope.errors import NetworkError
from transferscope.testing.diagnostics import DIAGNOSTIC_PROMISES, cnn_subject

SMALL: dict[str, dict[str, object]] = {
    "curvature": {"k": 3},
    "curvature-trace": {"max_probes": 20},
    "curvature-density": {"n_probes": 2, "steps": 10},
    "landscape": {"resolution": 4},
    "interpolation": {"resolution": 5},
    "gradient-stability": {"steps": 5},
}


def _diagnostic(name: str) -> Diagnostic:
    settings = SMALL.get(name, {})
    return DIAGNOSTICS[name](**settings)


every_diagnostic = pytest.mark.parametrize("name", sorted(DIAGNOSTICS))


@every_diagnostic
@pytest.mark.parametrize("promise", DIAGNOSTIC_PROMISES)
def test_it_keeps_what_every_diagnostic_promises(name: str, promise: str) -> None:
    DIAGNOSTIC_PROMISES[promise](_diagnostic(name))


@pytest.mark.parametrize("name", sorted(name for name in DIAGNOSTICS if _diagnostic(name).needs_start))
def test_what_compares_two_networks_says_so(name: str) -> None:
    with pytest.raises(NetworkError, match="compares a network with where it started"):
        _diagnostic(name).measure(replace(cnn_subject(), start=None, other=None))
