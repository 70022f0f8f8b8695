"""What a comparison tries that names no methods: in the order of what a run costs, the cheapest first."""

from typing import NamedTuple


class Default(NamedTuple):
    """A method that is tried unless others are named.

    Attributes:
        source_data: Whether it is tried only with a source of data, which it reads or is a control for.
        large_network: Whether it is tried only beside a network of others, or only beside one of the own small ones;
            None for both.
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
    Default("fine-tune"),
    Default("l2-sp"),
    Default("merlin-target-only", source_data=True),
    Default("joint", source_data=True),
    Default("merlin", source_data=True),
    Default("merlin-ft"),
)
"""Which of these can learn a target, each says itself (`check_task`): boosting takes tables, and a source's labels only
where the target has the same. A large network from scratch takes hours and is asked for by name."""


def default_methods(*, source_data: bool, large_network: bool) -> tuple[str, ...]:
    """Names of the methods to try, before the data are seen."""
    return tuple(
        one.name
        for one in DEFAULTS
        if (source_data or not one.source_data) and one.large_network in (None, large_network)
    )
