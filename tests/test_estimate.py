import math

from transferscope.estimate import Estimate


def test_what_is_no_number_says_why_and_is_not_used() -> None:
    missing = Estimate.missing("too_few", 3)
    assert math.isnan(missing.value)
    assert (missing.stderr, missing.n, missing.status, missing.usable) == (None, 3, "too_few", False)
    assert Estimate.without_error(2.0, 5) == Estimate(2.0, None, 5)
    assert Estimate.without_error(math.inf, 5).status == "undefined"
