"""Contract suites: what every method, network, data set, score and diagnostic promises, tried on yours.

Each function raises an AssertionError that names every promise that is not kept; without one there is nothing more to
do. transferscope's own members pass the same suites.

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
