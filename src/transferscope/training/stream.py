"""The order in which examples are drawn: a function of seed and step, so that a run can resume at any step."""

from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from transferscope.errors import SettingsError


def stream_seed(seed: int, *names: str) -> int:
    """A seed for one purpose, independent of the seeds of other purposes.

    Args:
        seed: The seed of the run, at least 0.
        names: What it is for, as in "source", "order".

    Returns:
        A 63-bit seed.
    """
    words = [int.from_bytes(name.encode(), "little") for name in names]
    return int(np.random.SeedSequence([seed, *words]).generate_state(1, np.uint64)[0] >> np.uint64(1))


@dataclass
class BatchStream:
    """Endless passes over n examples, each in a fresh random order without replacement.

    The batch of step t depends on (seed, t) alone.

    Attributes:
        n_examples: How many examples there are, at least 1.
        batch_size: Examples per batch, at least 1; more than there are means all of them in every batch.
        seed: Seed of the order.
    """

    n_examples: int
    batch_size: int
    seed: int
    _epoch: int = field(default=-1, init=False, repr=False)
    _order: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.int64), init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the sizes."""
        if self.n_examples < 1 or self.batch_size < 1:
            raise SettingsError(
                f"batches of {self.batch_size} from {self.n_examples} examples were asked for; both must be at least 1"
            )
        self.batch_size = min(self.batch_size, self.n_examples)

    @property
    def batches_per_epoch(self) -> int:
        """Batches in one pass; the last may be smaller."""
        return -(-self.n_examples // self.batch_size)

    def indices(self, step: int) -> Int[Tensor, " n"]:
        """Indices of the batch of `step` (counted from 0), at most `batch_size` of them."""
        epoch, place = divmod(step, self.batches_per_epoch)
        if epoch != self._epoch:
            generator = torch.Generator().manual_seed(stream_seed(self.seed, f"epoch {epoch}"))
            self._order = torch.randperm(self.n_examples, generator=generator)
            self._epoch = epoch
        return self._order[place * self.batch_size : (place + 1) * self.batch_size]
