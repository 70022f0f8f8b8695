"""Relative time of passes through a network, measured on a few examples at planning."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from transferscope.methods import Method
from transferscope.models.network import Network, n_weights

EXAMPLES, FEWEST, TIMES = 16, 4, 2
"""Examples that are passed at once, as many as recipes train networks of others on in a step, and where that takes long
the fewest; passes of each kind, of which the shortest counts."""

LONG = 0.1
"""Seconds of a pass of the fewest from which on more examples would not take much less each."""


@dataclass(frozen=True, slots=True)
class Passes:
    """The time of passes through a network; stored in the facts of a study by field.

    Attributes:
        step: Time of a forward and backward pass in units of a forward pass without gradients: 3 by operation count,
            more for operations that are slow to differentiate.
        weights: Number of parameters of the backbone.
        seconds: Time of a forward pass of one example; 0 if not measured on the device of the runs.
        steps: Like `step`, by method, for methods that train another network, see `Method.as_stepped`.
        fixed: Share of a forward pass in frozen first blocks, by method; 0 for others.
        reading: Time of a pass outside of training steps relative to one in a step: texts are then sorted by length,
            while a batch in a step is as long as its longest text.
    """

    step: float = 3.0
    weights: int = 0
    seconds: float = 0.0
    steps: Mapping[str, float] = field(default_factory=dict)
    fixed: Mapping[str, float] = field(default_factory=dict)
    reading: float = 1.0

    @classmethod
    def of(cls, network: Network, inputs: Tensor, methods: Mapping[str, Method]) -> "Passes":
        """Measure passes on a few inputs scaled for the network, also for one that cannot be trained.

        Args:
            network: The network, in evaluation mode.
        """
        features, names = network.features, list(network.named_blocks())
        began, ends = 0.0, dict[str, float]()
        hooks = [
            features.get_submodule(name if network.block_names or len(names) > 1 else "").register_forward_hook(
                lambda *_, name=name: ends.update({name: time.perf_counter() - began})
            )
            for name in names
        ]

        def shortest(run: Callable[[], object]) -> tuple[float, dict[str, float]]:
            nonlocal began
            taken = []
            for _ in range(TIMES):
                began = time.perf_counter()
                run()
                taken.append((time.perf_counter() - began, dict(ends)))
            return min(taken, key=lambda one: one[0])

        try:
            with torch.no_grad():
                few = inputs[:FEWEST]
                reading, reached = shortest(lambda: features(few))
                if reading < LONG and len(inputs) > FEWEST:
                    few = inputs
                    reading, reached = shortest(lambda: features(few))
            step, _ = shortest(lambda: features(few).sum().backward())
            steps = dict[str, float]()
            for name, method in methods.items():
                if (own := method.as_stepped(network)) is not network:
                    adapted = own.features
                    steps[name] = round(shortest(lambda: adapted(few).sum().backward())[0] / reading, 2)  # noqa: B023
        except RuntimeError:
            return cls(weights=n_weights(features))
        finally:
            for hook in hooks:
                hook.remove()
            features.zero_grad()
        frozen = {name: names[: len(method.frozen(network))] for name, method in methods.items()}
        fixed = {
            name: round(max(reached.get(block, 0.0) for block in held) / reading, 3)
            for name, held in frozen.items()
            if held
        }
        return cls(round(step / reading, 2), n_weights(features), reading / len(few), steps, fixed)
