"""Runs a small study that ends itself with SIGKILL: `python killed_with_networks.py DATA STORE MOMENT N`.

MOMENT is "finish" (a run is done and its networks are written, but the store has not heard of it), "replace" (a file of
weights is written and does not have its name yet) or "unlink" (a network that is not kept is about to be deleted); N is
how many times that happens before. With MOMENT "none" the study is done to its end.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from study.test_kept import run, tables
from transferscope.store import Store


def deadly(function: Callable[..., Any], n: int) -> Callable[..., Any]:
    """The function, which kills the process in the place of its call after the first n."""
    calls = iter(range(n))

    def called(*given: Any, **options: Any) -> Any:
        concerned = not isinstance(given[0], Path) or (
            given[0].suffix == ".safetensors" and given[0].name.startswith(".") == (function.__name__ == "replace")
        )
        if concerned and next(calls, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*given, **options)

    return called


def main(data: str, store: str, moment: str, n: str = "0") -> None:
    """Run the study."""
    places: dict[str, type] = {"finish": Store, "replace": Path, "unlink": Path}
    if moment in places:
        setattr(places[moment], moment, deadly(getattr(places[moment], moment), int(n)))
    run(Path(store), tables(Path(data)))


if __name__ == "__main__":
    main(*sys.argv[1:])
