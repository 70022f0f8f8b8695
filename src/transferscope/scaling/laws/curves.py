"""Laws in one size: the last value; power laws, with a floor, a shift, an end or a break; the sigmoid."""

import numpy as np
from jaxtyping import Float

from transferscope.scaling.laws.law import Law, Parameter, Rates, Sizes, Values, one_term, powers, product_grid

POWER = Law(
    name="power",
    formula="D x^-alpha",
    nonlinear=(Parameter("alpha", "rate: slope of the log-log line", 0.0, 4.0),),
    linear=(Parameter("D", "error at size 1"),),
    form=powers(((0, 0),)),
    grid=np.concatenate([[0.0], np.geomspace(0.002, 4.0, 40)])[:, None],
)
"""Hestness et al. 2017; M1 of Alabdulmohsin et al. 2022."""


POWER_FLOOR = Law(
    name="power+floor",
    formula="D x^-alpha + C",
    nonlinear=(Parameter("alpha", "pretraining rate", 0.02, 4.0),),
    linear=(Parameter("D", "error above the floor at size 1"), Parameter("C", "transfer gap: the error that stays")),
    form=powers(((0, 0),), ()),
    grid=np.geomspace(0.02, 4.0, 48)[:, None],
)
"""Mikami et al. 2021, eq. 1; M2 of Alabdulmohsin et al. 2022. Below alpha = 0.02 it looks straight in log x."""


SHIFTED_POWER = Law(
    name="shifted-power",
    formula="D (x + x_0)^-alpha + C",
    nonlinear=(
        Parameter("alpha", "rate at large sizes", 0.02, 4.0),
        Parameter("x_0", "examples that the start is worth", 1e-4, 1e3, "log", size=0),
    ),
    linear=(Parameter("D", "error above the floor at x + x_0 = 1"), Parameter("C", "the error that stays")),
    form=powers(((0, 0),), (), shift=(0, 1)),
    grid=product_grid(np.geomspace(0.02, 4.0, 24), np.geomspace(1e-3, 100.0, 11)),
    allows_zero=(True,),
)
"""Mandelbrot's shift of Zipf's law; M2 with an offset. No pretraining (x = 0) is an observation like any other."""


def _saturating_power(x: Sizes, eta: Rates) -> Values:
    alpha, x_1 = eta.T[:, :, None]
    rest = 1 / x[:, 0] + 1 / x_1
    return rest**alpha, lambda: (np.log(rest) * rest**alpha, -alpha * rest ** (alpha - 1) / x_1**2)


SATURATING_POWER = Law(
    name="saturating-power",
    formula="D (1/x + 1/x_1)^alpha",
    nonlinear=(
        Parameter("alpha", "rate before the gain ends", 0.0, 6.0),
        Parameter("x_1", "size at which the gain ends", 1e-2, 1e6, "log", size=0),
    ),
    linear=(Parameter("D", "scale of the error"),),
    form=one_term(_saturating_power, floor=False),
    grid=product_grid(np.concatenate([[0.0], np.geomspace(0.005, 5.0, 32)]), np.geomspace(0.03, 1e5, 16)),
)
"""M3 of Alabdulmohsin et al. 2022. Its floor is D x_1^-alpha; with x_1 -> infinity it is the power law."""

NEWTON_STEPS = 60


def _logits(log_t: Float[np.ndarray, "B m"], bend: Float[np.ndarray, "B 1"]) -> Float[np.ndarray, "B m"]:
    r"""Return the logit u of z, where z / (1 - z)^a = t.

    With z = \sigma(u): log z - a log(1 - z) = log t, an increasing function of u with slope in [min(1, a), max(1, a)],
    so Newton's method from any start converges.
    """
    u = log_t / np.where(log_t > 0, bend, 1.0)
    for _ in range(NEWTON_STEPS):
        z = 1 / (1 + np.exp(-u))
        residual = -np.logaddexp(0, -u) + bend * np.logaddexp(0, u) - log_t
        step = residual / (1 - z + bend * z)
        u = u - step
        if np.abs(step).max(initial=0.0) < 1e-12 * (1 + np.abs(u).max(initial=0.0)):
            break
    return u


def _sigmoid(x: Sizes, eta: Rates) -> Values:
    """Return the remaining share z of the way from plateau to plateau."""
    alpha, x_c, bend = eta.T[:, :, None]
    with np.errstate(divide="ignore"):
        log_ratio = np.log(x[:, 0]) - np.log(x_c)
    u = _logits(np.minimum(-alpha * log_ratio, 600.0), bend)
    z = 1 / (1 + np.exp(-u))

    def by_eta() -> tuple[Float[np.ndarray, "B m"], ...]:
        slope = z * (1 - z) / (1 - z + bend * z)  # dz / d log t
        return -np.where(x[:, 0] > 0, log_ratio, 0.0) * slope, alpha / x_c * slope, -np.logaddexp(0, u) * slope

    return z, by_eta


SIGMOID = Law(
    name="sigmoid",
    formula="C + H z,  z / (1 - z)^a = (x / x_c)^-alpha",
    nonlinear=(
        Parameter("alpha", "rate at large sizes", 0.02, 6.0),
        Parameter("x_c", "size at which the fall sets in", 1e-6, 1e4, "log", size=0),
        Parameter("a", "how slowly the upper plateau is left", 0.1, 10.0, "log"),
    ),
    linear=(Parameter("H", "error without data above the floor"), Parameter("C", "the error that stays")),
    form=one_term(_sigmoid),
    grid=product_grid(np.geomspace(0.06, 4.0, 14), np.geomspace(1e-4, 30.0, 9), np.array([0.3, 1.0, 3.0])),
    allows_zero=(True,),
)
"""M4 of Alabdulmohsin et al. 2022, with z = (f - C) / H and H = f(0) - C. a = 1 is Hill's curve."""


def _broken_power(x: Sizes, eta: Rates) -> Values:
    c_0, c_1, d, f = eta.T[:, :, None]
    log_x = np.log(x[:, 0])
    v = (log_x - np.log(d)) / f
    softplus = np.logaddexp(0, v)
    power = np.exp(-c_0 * log_x - c_1 * f * softplus)

    def by_eta() -> tuple[Float[np.ndarray, "B m"], ...]:
        sigmoid = np.exp(-np.logaddexp(0, -v))
        by_d, by_f = c_1 * sigmoid / d * power, -c_1 * (softplus - v * sigmoid) * power
        return -log_x * power, -f * softplus * power, by_d, by_f

    return power, by_eta


BROKEN_POWER = Law(
    name="broken-power",
    formula="b x^-c_0 (1 + (x/d)^(1/f))^(-c_1 f) + C",
    nonlinear=(
        Parameter("c_0", "rate before the break", 0.0, 4.0),
        Parameter("c_1", "change of the rate at the break", -4.0, 4.0),
        Parameter("d", "size at the break", 1e-3, 1e3, "log", size=0),
        Parameter("f", "width of the break in log size", 0.05, 3.0, "log"),
    ),
    linear=(Parameter("b", "scale of the error"), Parameter("C", "the error that stays")),
    form=one_term(_broken_power),
    grid=product_grid(
        np.array([0.0, 0.05, 0.15, 0.4, 1.0]),
        np.array([-0.8, -0.25, -0.08, 0.08, 0.25, 0.8, 2.0]),
        np.geomspace(0.03, 30.0, 8),
        np.array([0.15, 0.6, 1.8]),
    ),
)
"""Caballero et al. 2023 (BNSL) with one break. The only law here that can rise again (c_0 + c_1 < 0)."""
