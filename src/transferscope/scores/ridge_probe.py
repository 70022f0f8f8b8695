"""Leave-one-out accuracy of a ridge head on the features, in closed form: a linear probe without training.

With F and the label codes Y (e_c - 1/C for class c, or the regression outputs) both less their mean over all
examples, and H = F (F' F + lambda I)^-1 F', ridge regression with an intercept, fitted without example i, errs on it by
(Allen 1974, PRESS; Hastie, Tibshirani and Friedman, "The elements of statistical learning", eq. 7.64)

    (y - H y)_i / (1 - 1/n - H_ii).

The intercept of that fit is the mean of the other codes, which is y_i / (n - 1) less than the mean of all.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float64

from transferscope.data.task import Kind
from transferscope.estimate import Estimate
from transferscope.numerics.average_precision import macro_average_precision
from transferscope.scores.neighbours import accuracy, r_squared
from transferscope.scores.score import Score, TargetView, outputs
from transferscope.scores.spectrum import centred, spectrum

RELATIVE_LAMBDAS = 10.0 ** np.arange(-8, 5)
"""Candidate values of lambda, in units of the mean squared singular value of the centred features."""


@dataclass(frozen=True)
class RidgeProbe(Score):
    """Leave-one-out accuracy of a ridge head (classification), or its R^2 as mean over the outputs that vary.

    With several labels of each example, its macro-averaged average precision over the labels that vary.

    lambda is the one of 13 decades with the least leave-one-out squared error summed over outputs, each in units of its
    variance for regression; choosing it on the same examples biases the value slightly upwards. Slopes are fitted
    without
    the example, means included; the intercept is the mean code of all examples. Refitted without the example it would
    always vote against its class: uninformative features would reach 0 on balanced classes instead of 1/C.

    It estimates a linear head on frozen features, so it underrates networks that gain from fine-tuning.
    """

    name: ClassVar[str] = "ridge-probe"
    kinds: ClassVar[tuple[Kind, ...]] = ("classification", "regression", "multi-label")

    def computed(self, view: TargetView) -> Estimate:
        """Return the accuracy, R^2 or average precision, leaving one out; see the class."""
        targets = outputs(view)
        codes = targets - targets.mean(axis=0)
        if view.kind == "regression":
            codes = codes / codes.std(axis=0)
        predictions = best_predictions(centred(view.features), codes)
        if view.is_classification:
            return Estimate(accuracy(predictions + targets.mean(axis=0), targets), None, len(view))
        if view.kind == "multi-label":
            return Estimate(macro_average_precision(predictions, targets), None, len(view))
        return Estimate(r_squared(predictions, codes), None, len(view))


def best_predictions(
    features: Float64[np.ndarray, "n d"], codes: Float64[np.ndarray, "n K"]
) -> Float64[np.ndarray, "n K"]:
    """Return leave-one-out predictions of centred ridge regression with the lambda of the smallest squared error.

    Returns:
        Predictions; ties go to the larger lambda.
    """
    n, principal = len(codes), spectrum(features)
    left, coordinates = principal.left(), principal.coordinates(codes)
    # what no lambda reaches, exactly 0 where the features span all centred codes: differences of near equals otherwise
    spans = len(principal.squares) == n - 1
    outside = 0.0 if spans else codes - left @ coordinates
    free = 0.0 if spans else 1 - 1 / n - (left**2).sum(axis=1)
    best, least = codes, np.inf
    for scale in RELATIVE_LAMBDAS[::-1]:
        ridge = scale * principal.squares.mean()
        shrunk = ridge / (principal.squares + ridge)  # (r,)
        residual = (outside + left @ (shrunk[:, None] * coordinates)) / (free + left**2 @ shrunk)[:, None]
        residual = residual - codes / (n - 1)
        error = float((residual**2).sum())
        if error < least:
            best, least = codes - residual, error
    return best
