"""The default methods of a comparison, by cost of a run, cheapest first."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Default(NamedTuple):
    """A default method of comparisons.

    Attributes:
        source_data: Whether it requires source data, which it reads or is a control for.
        large_network: Whether it applies only to networks of other packages (True) or only to the package's small ones
            (False); None for both. For training from scratch, the network to train counts.
    """

    name: str
    source_data: bool = False
    large_network: bool | None = None


DEFAULTS = (
    Default("raw"),
    Default("boosting"),
    Default("boosting-ridge"),
    Default("knn"),
    Default("do-nothing", source_data=True),
    Default("random-features"),
    Default("linear-probe"),
    Default("source-boosting", source_data=True),
    Default("pooled-boosting", source_data=True),
    Default("pooled-boosting-ridge", source_data=True),
    Default("small-scratch", large_network=True),
    Default("scratch", large_network=False),
    Default("last-block", large_network=True),
    Default("lora", large_network=True),
    Default("fine-tune"),
    Default("l2-sp", large_network=False),
    Default("merlin-target-only", source_data=True),
    Default("joint", source_data=True),
    Default("merlin", source_data=True),
    Default("merlin-ft", large_network=False),
)
"""Each method refuses targets that it does not support (`check_task`): boosting takes tables, and a source's labels
only where the target has the same. With a large network a run takes minutes to hours: training from scratch, L2-SP and
MeRLin-ft run only by name."""

VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "last-block": {"method": "fine-tune", "head": "probe", "frozen_blocks": -1}
}
"""Methods by another name, with their settings in a study file."""


def default_methods(
    *, source_data: bool, large_network: bool, large_from_scratch: bool | None = None
) -> tuple[str, ...]:
    """Return the names of the default methods, before the data are read.

    Args:
        source_data: Whether a source is data.
        large_network: Whether a network is from another package.
        large_from_scratch: Whether the network trained from scratch is; None for the same.
    """
    from_scratch = large_network if large_from_scratch is None else large_from_scratch
    return tuple(
        one.name
        for one in DEFAULTS
        if (source_data or not one.source_data)
        and one.large_network in (None, from_scratch if "scratch" in one.name else large_network)
    )
