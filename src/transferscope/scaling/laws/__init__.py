"""Scaling laws in one size (`curves`) and in two (`surfaces`): formula, gradient, domain, meaning of each parameter.

`LAWS` maps names to laws; `law_named` suggests the nearest names for an unknown one.
"""

from transferscope.errors import unknown_name
from transferscope.scaling.laws.curves import (
    BROKEN_POWER,
    POWER,
    POWER_FLOOR,
    SATURATING_POWER,
    SHIFTED_POWER,
    SIGMOID,
)
from transferscope.scaling.laws.law import Law, Parameter
from transferscope.scaling.laws.surfaces import ADDITIVE, COUPLED, EFFECTIVE_DATA, FULL, FULL_FLOOR, OFFSET, PRODUCT

CURVE_LAWS = {law.name: law for law in (POWER, POWER_FLOOR, SHIFTED_POWER, SATURATING_POWER, SIGMOID, BROKEN_POWER)}
"""Laws in one size."""

SURFACE_LAWS = {law.name: law for law in (FULL, FULL_FLOOR, ADDITIVE, PRODUCT, EFFECTIVE_DATA)}
"""Laws in pretraining size n and fine-tuning size s."""

FREE_LAWS = {law.name: law for law in (ADDITIVE, COUPLED, OFFSET)}
"""Laws in two sizes that vary freely, such as parameters and tokens: n and s, or N and D."""

LAWS = CURVE_LAWS | SURFACE_LAWS | FREE_LAWS
"""Every law by name."""


def law_named(name: str) -> Law:
    """Return the law of that name; UnknownNameError where there is none."""
    if name not in LAWS:
        raise unknown_name("law", name, LAWS)
    return LAWS[name]


__all__ = ["CURVE_LAWS", "FREE_LAWS", "LAWS", "SURFACE_LAWS", "Law", "Parameter", "law_named"]
