"""What a comparison tries that names no methods: in the order of what a run costs, the cheapest first."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Default(NamedTuple):
    """A method that is tried unless others are named.

    Attributes:
        source_data: Whether it is tried only with a source of data, which it reads or is a control for.
        large_network: Whether it is tried only where a network of others is trained, or only where all are the own
            small ones; None for both. Of training from scratch, the network that it would train counts.
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
"""Which of these can learn a target, each says itself (`check_task`): boosting takes tables, and a source's labels only
where the target has the same. Of a large network a run takes minutes to hours: from scratch, L2-SP and MeRLin-ft are
asked for by name."""

VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "last-block": {"method": "fine-tune", "head": "probe", "frozen_blocks": -1},
}
"""Methods by another name, with their settings in a study file."""


def default_methods(
    *, source_data: bool, large_network: bool, large_from_scratch: bool | None = None
) -> tuple[str, ...]:
    """Return the names of the default methods, before the data are read.

    Args:
        source_data: Whether a source is data.
        large_network: Whether a network is of others.
        large_from_scratch: Whether the one that is trained from scratch is; None for the same.
    """
    from_scratch = large_network if large_from_scratch is None else large_from_scratch
    return tuple(
        one.name
        for one in DEFAULTS
        if (source_data or not one.source_data)
        and one.large_network in (None, from_scratch if "scratch" in one.name else large_network)
    )
