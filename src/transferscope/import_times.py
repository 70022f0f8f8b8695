"""When Python looked for modules: kept from the first import of transferscope on, before anything else is imported."""

import sys
import time
from importlib.abc import MetaPathFinder

LOOKED_FOR: dict[str, float] = {}
"""When Python last looked for a module, to import it or to load it again, in seconds since 1970."""

LOADED_AGAIN: dict[str, float] = {}
"""When Python last looked for a module to load it again; what had imported it before may hold its earlier code."""

IN_MEMORY: dict[str, str] = {}
"""Digests of the files of modules in memory, by name, as far as `user_code` has found them out."""


class _Observer(MetaPathFinder):
    """Notes what Python looks for, and finds nothing."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        """See `importlib.abc.MetaPathFinder`."""
        LOOKED_FOR[fullname] = time.time()
        IN_MEMORY.pop(fullname, None)
        if target is not None:
            LOADED_AGAIN[fullname] = LOOKED_FOR[fullname]


sys.meta_path.insert(0, _Observer())
