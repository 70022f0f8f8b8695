"""What every diagnostic promises, tried on all of them."""

import pytest

from transferscope.diagnostics import DIAGNOSTICS
from transferscope.testing.diagnostics import DIAGNOSTIC_PROMISES

SMALL: dict[str, dict[str, object]] = {
    "curvature": {"k": 3},
    "landscape": {"resolution": 4},
    "gradient-stability": {"steps": 5},
}


@pytest.mark.parametrize("name", sorted(DIAGNOSTICS))
@pytest.mark.parametrize("promise", DIAGNOSTIC_PROMISES)
def test_it_keeps_what_every_diagnostic_promises(name: str, promise: str) -> None:
    DIAGNOSTIC_PROMISES[promise](DIAGNOSTICS[name](**SMALL.get(name, {})))
