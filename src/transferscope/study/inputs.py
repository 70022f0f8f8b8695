"""What a study was planned from: its file, code and data, so that a finished study is not planned again for nothing.

Beside every plan its store keeps stamps of all that it depends on: study file, code, packages, environment and data
files. Where one differs or cannot be taken, the study is planned again. Nothing here imports torch before that.
"""

import hashlib
import json
import os
import platform
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transferscope.errors import TransferscopeError
from transferscope.files import expanded
from transferscope.store import Store, StudyRow
from transferscope.study.places import check_place, find_study, read_toml
from transferscope.study.status import StudyStatus, study_status

if TYPE_CHECKING:
    from transferscope.study.planners import AnySpec
    from transferscope.study.spec import StudySpec

DOCUMENT = "inputs"
"""Name of the document that is kept with a study."""

_SETTLED = 2.0
"""Seconds for which a file must have been left alone: within the clock of a file system a change may leave no trace."""


def inputs_of(study: Path, spec: "AnySpec") -> dict[str, Any]:
    """Stamps of what a plan is made from, taken before it is made.

    Returns:
        JSON values: "file", which the settings of the study depend on, and "data", by path, for its data; nothing of
        commands, whose files a plan looks at; no "data" where they come from code or from a network of another library,
        which no stamp can be taken of, where a file was changed a moment ago, and for a race or a tracked study.
    """
    from transferscope.study.spec import StudySpec

    if not isinstance(spec, StudySpec):
        return {}
    inputs: dict[str, Any] = {"file": _of_file(study)}
    paths = _data_paths(study, spec)
    if paths is None or (stamps := _stamps(paths, before=time.time() - _SETTLED)) is None:
        return inputs
    return inputs | {"data": stamps}


def kept_inputs(inputs: Mapping[str, Any], study: StudyRow, *, is_finished: bool) -> dict[str, Any]:
    """The document that is kept with a study: stamps, which plan they belong to, and whether a run came to its end."""
    return {**inputs, "plan": _of_plan(study), "finished": is_finished}


def is_as_planned(study: Path, store: Store, name: str) -> bool:
    """Whether a study file says what was planned last; False where that is not known."""
    kept = store.study_document(name, DOCUMENT) or {}
    return kept.get("file") == _of_file(study) and kept.get("plan") == _of_plan(store.study(name))


def if_finished(study: Path) -> tuple[StudyStatus, StudyRow] | None:
    """Status and row of a study of which a run would find every cell done; None where it may have something to do."""
    try:
        address, files = find_study(study), read_toml(study).get("files")
        if "://" not in address.store and not Path(address.store).is_file():
            return None
        folder = (study.parent / expanded(files)).absolute() if isinstance(files, str) else None
        with Store.open(address.store, create=False, files=folder) as store:
            if address.name not in [row.name for row in store.studies()]:
                return None
            kept = store.study_document(address.name, DOCUMENT) or {}
            data = kept.get("data")
            if not (
                kept.get("finished") is True and isinstance(data, dict) and is_as_planned(study, store, address.name)
            ):
                return None
            if _stamps(map(Path, data)) != data or any(
                store.files.glob(".*.safetensors")
            ):  # what a killed process left
                return None
            check_place(store)
            status = study_status(store, address.name)
            return (status, store.study(address.name)) if status.counts.done == status.counts.total else None
    except (OSError, TransferscopeError):
        return None  # the usual way says it


def _of_plan(study: StudyRow) -> str:
    return _digest([study.spec, study.facts])


def _of_file(study: Path) -> str:
    """Digest of a study file, of the code and the packages that read it, and of what they ask the machine."""
    package = Path(__file__).parents[1]
    code = [(str(path.relative_to(package)), *_times(path)) for path in sorted(package.rglob("*.py"))]
    packages: set[str] = set()
    for folder in sys.path:
        with suppress(OSError):  # no such folder
            names = os.listdir(folder or ".")  # noqa: PTH208  # "" is the current folder
            packages |= {name for name in names if name.endswith((".dist-info", ".egg-info", ".egg-link", ".pth"))}
    devices = sorted(path.name for pattern in ("nvidia*", "kfd", "dxg") for path in Path("/dev").glob(pattern))
    asked = [name for name in os.environ if name.startswith("TRANSFERSCOPE_") or name == "CUDA_VISIBLE_DEVICES"]
    environment = {name: os.environ[name] for name in sorted(asked)}
    machine = [sys.version, sys.prefix, platform.node(), devices, environment]
    return _digest([str(study.absolute()), study.read_bytes().hex(), str(package), code, sorted(packages), machine])


def _data_paths(study: Path, spec: "StudySpec") -> list[Path] | None:
    """Files and folders that the data of a study are read from; None where code or others' libraries give them."""
    from transferscope.data.load import files_of
    from transferscope.data.places import data_folder
    from transferscope.models.build import BACKBONES

    diagnostics = [settings.diagnostic for settings in spec.diagnostics.values()]
    own = all(type(one).__module__.startswith("transferscope.") for one in (*spec.methods.values(), *diagnostics))
    named = any(source.names_network for source in spec.sources.values())
    if not own or named or spec.network.name not in BACKBONES.own or spec.race is not None or spec.track is not None:
        return None
    names = [spec.target.data]
    places = []
    for source in spec.sources.values():
        names += [*([] if source.data is None else [source.data]), *source.held_out.values()]
        places += [Path(given) for given in (source.network, source.weights) if given is not None]
    for name in names:
        paths = files_of(name)
        if paths is None:
            return None
        places += paths
    far = data_folder()
    near = [study.parent.absolute() / path.relative_to(far) for path in places if far and path.is_relative_to(far)]
    return [*places, *near]  # a file beside the study file comes before that in TRANSFERSCOPE_DATA


def _stamps(paths: Iterable[Path], *, before: float | None = None) -> dict[str, str] | None:
    """A stamp of each file and of all in each folder; None if one was changed after `before`, or a folder has links."""
    stamps = {}
    for path in paths:
        inside = [path]
        for folder, folders, files in os.walk(path):
            if any(Path(folder, name).is_symlink() for name in folders):
                return None
            inside += [Path(folder, name) for name in (*folders, *files)]
        times = [(str(one), _times(one)) for one in sorted(inside)]
        if before is not None and any(at > 1e9 * before for _, stat in times for at in stat[2:]):
            return None
        stamps[str(path)] = _digest(times)
    return stamps


def _times(path: Path) -> tuple[int, ...]:
    """Inode number, size, and times of the last change of content and entry; empty where nothing is there."""
    try:
        stat = path.stat()
    except OSError:
        return ()
    return (stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
