"""Scaling laws, one file each: formula, gradient, domain and the meaning of each parameter.

`LAWS` maps names to laws; `law_named` answers a wrong name with the nearest ones.
"""

from transferscope.errors import unknown_name
from transferscope.scaling.laws.additive import ADDITIVE
from transferscope.scaling.laws.broken_power import BROKEN_POWER
from transferscope.scaling.laws.effective_data import EFFECTIVE_DATA
from transferscope.scaling.laws.full import FULL, FULL_FLOOR
from transferscope.scaling.laws.last_value import LAST_VALUE
from transferscope.scaling.laws.law import Law, Parameter
from transferscope.scaling.laws.power import POWER
from transferscope.scaling.laws.power_floor import POWER_FLOOR
from transferscope.scaling.laws.product import PRODUCT
from transferscope.scaling.laws.saturating_power import SATURATING_POWER
from transferscope.scaling.laws.shifted_power import SHIFTED_POWER
from transferscope.scaling.laws.sigmoid import SIGMOID

CURVE_LAWS = {
    law.name: law for law in (LAST_VALUE, POWER, POWER_FLOOR, SHIFTED_POWER, SATURATING_POWER, SIGMOID, BROKEN_POWER)
}
"""Laws in one size."""

SURFACE_LAWS = {law.name: law for law in (FULL, FULL_FLOOR, ADDITIVE, PRODUCT, EFFECTIVE_DATA)}
"""Laws in pre-training size n and fine-tuning size s."""

LAWS = CURVE_LAWS | SURFACE_LAWS
"""Every law by name."""


def law_named(name: str) -> Law:
    """The law of that name.

    Raises:
        UnknownNameError: There is none.
    """
    if name not in LAWS:
        raise unknown_name("law", name, LAWS)
    return LAWS[name]


__all__ = ["CURVE_LAWS", "LAWS", "SURFACE_LAWS", "Law", "Parameter", "law_named"]
