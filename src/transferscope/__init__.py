"""Whether transfer learning helps a target task, which method, how much pretraining it takes, and why.

From Python:

    from transferscope import compare, diagnose, plan, rank, scaling

and `transferscope --help` from the command line. Each of the five answers one question; its result has `.verdict`,
`.table()`, `.report(path)`, `.to_json()`, `.to_latex()` and `.to_markdown()`, and a notebook display. `open_result`
returns the answer of a finished study, `export` writes the network of a run to a folder, and `load_model` opens it.
Each name is imported on first use.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transferscope.analyses.compare import compare as compare
    from transferscope.analyses.diagnose import diagnose as diagnose
    from transferscope.analyses.plan import plan as plan
    from transferscope.analyses.rank import rank as rank
    from transferscope.analyses.scaling import scaling as scaling
    from transferscope.analyses.stored import open_result as open_result
    from transferscope.study.export import export as export
    from transferscope.trained import load_model as load_model

    __version__: str

_PUBLIC = {
    "compare": "transferscope.analyses.compare",
    "diagnose": "transferscope.analyses.diagnose",
    "export": "transferscope.study.export",
    "load_model": "transferscope.trained",
    "open_result": "transferscope.analyses.stored",
    "plan": "transferscope.analyses.plan",
    "rank": "transferscope.analyses.rank",
    "scaling": "transferscope.analyses.scaling",
}

__all__ = ["__version__", "compare", "diagnose", "export", "load_model", "open_result", "plan", "rank", "scaling"]


class _CallableModule(ModuleType):
    """A module with the name of an analysis that is also its function: `transferscope.scaling("errors.csv")`."""

    @property
    def _analysis(self) -> Any:
        name = self.__name__.rpartition(".")[2]
        return getattr(import_module(_PUBLIC[name]), name)

    @property
    def __signature__(self) -> Any:
        return import_module("inspect").signature(self._analysis)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._analysis(*args, **kwargs)


class _Package(ModuleType):
    """This package; importing `transferscope.scaling` binds that module to a public name, so it is made callable."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _PUBLIC and isinstance(value, ModuleType):
            value.__class__ = _CallableModule
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("transferscope")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'transferscope' has no attribute {name!r}; it offers {', '.join(__all__)}")
    value = getattr(import_module(_PUBLIC[name]), name)
    return globals().get(name, value)  # the import may have bound the module of this name, which is callable too


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
