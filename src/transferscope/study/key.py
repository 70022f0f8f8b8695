"""The key of a cell: a hash of what can change its answer, and of nothing else."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any


def shared_digest(parts: Mapping[str, Any]) -> str:
    """Digest of what many cells share: settings, fingerprints, versions (JSON values)."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def cell_key(
    shared: str, *, seed: int, n_target: int | None = None, n_source: int | None = None, needs: Sequence[str] = ()
) -> str:
    """Key of a cell.

    Args:
        shared: Digest of everything else that can change the answer, from `shared_digest`.
        seed: Its seed.
        n_target: Its number of target labels.
        n_source: Its number of source examples.
        needs: Keys of the cells that it needs.

    Returns:
        32 hexadecimal digits.
    """
    text = f"{shared}|{seed}|{n_target}|{n_source}|{','.join(needs)}"
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
