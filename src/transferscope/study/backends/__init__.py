"""Where cells are done: in processes on this machine (`LocalBackend`), in this very process (`InlineBackend`), or as
tasks of a Ray cluster (`RayBackend`).

Only this package knows processes. A backend takes planned cells and gives back messages; it knows nothing of the store.
"""

from transferscope.study.backends.backend import Advanced, Backend, Failed, Finished, InlineBackend, Message, Stopped
from transferscope.study.backends.local import LocalBackend, default_workers

__all__ = [
    "Advanced",
    "Backend",
    "Failed",
    "Finished",
    "InlineBackend",
    "LocalBackend",
    "Message",
    "Stopped",
    "default_workers",
]
