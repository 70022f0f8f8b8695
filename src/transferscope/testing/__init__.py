"""Contract tests for your own methods, networks, data sets, scores and diagnostics.

Each function raises an AssertionError that lists every broken promise. The built-in members pass the same tests.

    from transferscope.testing import check_method
    from method import BatchSpectralShrinkage

    def test_my_method():
        check_method(BatchSpectralShrinkage(eta=0.01))
"""

from transferscope.testing.data import check_data
from transferscope.testing.diagnostics import check_diagnostic
from transferscope.testing.methods import check_method
from transferscope.testing.networks import check_network
from transferscope.testing.scores import check_score

__all__ = ["check_data", "check_diagnostic", "check_method", "check_network", "check_score"]
