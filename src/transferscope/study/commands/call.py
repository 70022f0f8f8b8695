"""A run of a Python function in place of a command: its arguments, its identity, and its result."""

import functools
import hashlib
import json
import math
import pickle
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from operator import attrgetter
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from transferscope import consent, user_code
from transferscope.errors import CorruptDataError, SettingsError
from transferscope.estimate import Estimate
from transferscope.records import Cost, Record
from transferscope.store import Outcome, PlannedCell
from transferscope.study.context import RunFailed, WorkContext
from transferscope.study.tables import settings_of

Function = Callable[..., Any]

_of_this_process: dict[str, Function] = {}
"""Functions that only this process has, as those of a notebook, by the reference of their calls."""


@dataclass(frozen=True, slots=True)
class Call:
    """The common settings of an arm whose runs are function calls, as a `Job` for a command.

    Attributes:
        command: The function, as in "package.module:function".
        values: Keyword arguments other than seed and labels: numbers, text, booleans, None, and lists of these.
        digest: Digest of its code.
        name: Name of its score.
        is_share: Whether the score must be between 0 and 1.
    """

    command: str
    values: Mapping[str, Any]
    digest: str
    name: str
    is_share: bool
    takes_labels: bool
    folder: str = "."
    files: Mapping[str, str] = field(default_factory=dict)

    def as_payload(self) -> dict[str, Any]:
        """Return the call as JSON values."""
        return {"call": asdict(self)}

    @property
    def reference(self) -> str:
        """The reference of the function for `consent`."""
        return f"{self.command} [{self.digest}]"

    def words(self, labels: Mapping[str, Any], *, out: str) -> list[str]:
        """Return what identifies a run: function, code and arguments."""
        return [self.reference, json.dumps(self.arguments(labels), sort_keys=True)]

    def named(self, words: list[str]) -> list[tuple[str, str]]:
        """Return no files, since those of its code are in the digest."""
        return []

    def arguments(self, labels: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keyword arguments of one run with these labels ("n_target", "seed")."""
        of_run = {"seed": int(labels["seed"])} | ({"labels": int(labels["n_target"])} if self.takes_labels else {})
        return {**self.values, **of_run}


def name_of(run: object) -> str:
    """Return the name of a function, as in "package.module:function"."""
    kind = user_code.defined(run)
    return f"{kind.__module__}:{kind.__qualname__}"


def is_importable(run: object) -> bool:
    """Return whether another process can import a function or class by its name."""
    name = name_of(run)
    try:
        return not name.startswith("__main__:") and _named(name) is run
    except (ImportError, AttributeError):
        return False


def _named(name: str) -> Any:
    module, _, path = name.partition(":")
    return attrgetter(path)(import_module(module))


def digest_of(run: Function) -> str:
    """Return a digest of a function: its file with the files that it imports.

    For a function that cannot be imported by name, the digest includes its state in memory: code, defaults, closure and
    referenced globals, the arguments of a partial, the object of a method.

    Raises:
        SettingsError: It holds an object whose changes cannot be detected.
    """
    of_file = user_code.digest_of(run)
    return of_file if is_importable(run) else _sha256(repr([of_file, _held(run, set())]).encode())


def _held(entry: Any, met: set[int]) -> object:
    """Return a value as text, numbers and lists that are equal for equal values, also in another process."""
    if entry is None or isinstance(entry, bool | int | float | str | bytes):
        return repr(entry)
    if isinstance(entry, functools.partial):
        return [_held(part, met) for part in (entry.func, entry.args, entry.keywords)]
    if isinstance(entry, MethodType):
        return [_held(entry.__func__, met), _held(entry.__self__, met)]
    if isinstance(entry, ModuleType):
        return entry.__name__
    if isinstance(entry, type | FunctionType):
        if is_importable(entry) or id(entry) in met:
            return [name_of(entry), user_code.digest_of(entry)]
        met.add(id(entry))
        parts = _of_function(entry) if isinstance(entry, FunctionType) else _of_class(entry)
        return [name_of(entry), *(_held(part, met) for part in parts)]
    if isinstance(entry, CodeType):
        return [entry.co_code, entry.co_names, entry.co_varnames, _held(list(entry.co_consts), met)]
    if isinstance(entry, dict):
        return sorted((repr(key), _held(value, met)) for key, value in entry.items())
    if isinstance(entry, set | frozenset):
        return sorted(repr(_held(one, met)) for one in entry)
    if isinstance(entry, list | tuple):
        return [_held(one, met) for one in entry]
    if hasattr(entry, "__dict__") and not is_importable(type(entry)) and id(entry) not in met:
        met.add(id(entry))
        return [_held(type(entry), met), _held(vars(entry), met)]
    try:
        return _sha256(pickle.dumps(entry))
    except Exception as error:  # whatever the object raises
        raise SettingsError(
            f"the function refers to an object of type {type(entry).__qualname__}, whose changes cannot be detected; "
            "define the function in a module, or make the object inside it"
        ) from error


def _of_function(run: FunctionType) -> list[object]:
    names, codes = set(), [run.__code__]
    while codes:
        code = codes.pop()
        names |= {*code.co_names}
        codes += [one for one in code.co_consts if isinstance(one, CodeType)]
    cells = [cell.cell_contents for cell in run.__closure__ or () if cell != CellType()]
    named = {name: run.__globals__[name] for name in names if name in run.__globals__}
    return [run.__code__, run.__defaults__, run.__kwdefaults__, cells, named]


def _of_class(kind: type) -> list[object]:
    own = {name: one for name, one in vars(kind).items() if isinstance(one, FunctionType) or not name.startswith("__")}
    return [[*kind.__bases__], own]


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def keep(call: Call, run: Function) -> None:
    """Execute calls of a function that cannot be imported in this process."""
    _of_this_process[call.reference] = run


def work(cell: PlannedCell, context: WorkContext) -> Outcome:
    """Call the function of a cell; see `study.context.Work`.

    It returns its score as a number, or the contributions of the test examples as an array (N,), whose mean is the
    score.

    Raises:
        UntrustedCodeError: The function is named only by a store, not by the user.
        CorruptDataError: Its code has changed since planning.
        RunFailed: It returned no score.
        Exception: Any exception of the function.
    """
    call = settings_of(Call, cell.payload.get("call"))
    run = _of_this_process.get(call.reference)
    if run is None:
        with consent.reading():
            consent.require("function", call.reference)
        run = _imported(call)
    started = time.perf_counter()
    returned = run(**call.arguments(cell.labels))
    cost = Cost(seconds=time.perf_counter() - started)
    try:
        given = np.zeros((0, 0)) if returned is None else np.asarray(returned, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.zeros((0, 0))
    if given.ndim > 1 or not given.size:
        raise RunFailed(
            f"{call.command} returned {str(returned)[:80]!r}; expected a score, or an array with one score per test "
            "example"
        )
    score = float(given.mean())
    if not math.isfinite(score):
        raise RunFailed(f"{call.command} returned {score}; expected a finite score", kind="non_finite")
    if call.is_share and not 0 <= score <= 1:
        raise RunFailed(f"{call.command} returned {score:g}; expected a share from 0 to 1, or give another unit")
    examples = {"predictions": given} if given.ndim else {}
    return Outcome((Record(call.name, Estimate(score, None, 1)),), cost, examples, {"status": "ok"})


def _imported(call: Call) -> Function:
    try:
        run: Function = _named(call.command)
    except (ImportError, AttributeError) as error:
        raise SettingsError(
            f"{call.command} cannot be imported ({error}); call compare again where it is defined"
        ) from error
    if digest_of(run) != call.digest:
        raise CorruptDataError(
            f"the code of {call.command} has changed since the study was planned; call compare again"
        )
    return run


def with_values(call: Call, values: Mapping[str, Any]) -> Call:
    """Return the call with an arm's arguments; raises SettingsError for arguments that cannot be stored."""
    values = {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}
    try:
        json.dumps(values, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"{error}; give numbers, text, booleans, None, or lists of these") from error
    return replace(call, values=values)
