"""The theory of a figure is computed once in a process, whichever of its tests asks for it."""

from collections.abc import Iterator
from functools import cache

import pytest


@pytest.fixture(scope="session", autouse=True)
def _theory_once() -> Iterator[None]:
    from transferscope_papers.catalogue import FIGURES

    with pytest.MonkeyPatch.context() as patch:
        for kind in {type(figure) for figure in FIGURES.values()}:
            patch.setattr(kind, "theory", cache(kind.theory))
        yield
