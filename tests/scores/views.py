"""Views that the scores are tried on."""

from transferscope.testing.scores import classes_view, probabilities, regression_view

__all__ = ["classes_view", "probabilities", "regression_view"]
