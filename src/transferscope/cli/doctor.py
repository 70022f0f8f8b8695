"""`transferscope doctor`: available and missing packages and devices on this machine."""

import json
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

import typer

from transferscope.cli.as_json import print_json
from transferscope.cli.commands.doctor import Options
from transferscope.cli.terminal import say
from transferscope.errors import TransferscopeError, refuse_unused
from transferscope.wording import memory

_OWN = "transferscope"
_FOR_DEVELOPERS = {"dev", "docs", "bench", "examples"}
_MODULES = {"mlflow-skinny": "mlflow"}  # where the name of a package is not that of its module
_GB = 1e9


@dataclass(frozen=True)
class Finding:
    """One line of the answer: "absent" is needed by some uses only, "wrong" prevents transferscope from working."""

    topic: str
    text: str
    state: Literal["ok", "absent", "wrong"] = "ok"


def doctor(options: Options, _: object = None) -> None:
    """Print the findings, or a schema."""
    if options.schema is not None:
        refuse_unused({"--json": options.as_json}, "--schema prints JSON in any case")
        from transferscope.study.schema import study_schema  # with torch, whose absence is one of the findings

        say(json.dumps(study_schema(), indent=2, ensure_ascii=False))
        return
    findings = [*_versions(), *_devices(), *_folders(), *_extras()]
    wrong = sum(finding.state == "wrong" for finding in findings)
    if options.as_json:
        print_json("doctor", {"wrong": wrong, "findings": [asdict(finding) for finding in findings]})
        raise typer.Exit(1 if wrong else 0)
    width = max(len(finding.topic) for finding in findings)
    marks = {"ok": "ok     ", "absent": "absent ", "wrong": "WRONG  "}
    for finding in findings:
        say(f"{marks[finding.state]}{finding.topic:<{width}}  {finding.text}")
    if wrong:
        say(f"\n{wrong} of these must be fixed first.")
        raise typer.Exit(1)
    say("\nEverything that transferscope needs is here.")


def _versions() -> Iterator[Finding]:
    yield Finding("transferscope", metadata.version(_OWN))
    yield Finding("Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for name in _requirements()[""]:
        version = _version(name)
        if version is None:
            yield Finding(name, f"is not installed: pip install --force-reinstall {_OWN}", "wrong")
        else:
            yield Finding(name, version)


def _devices() -> Iterator[Finding]:
    import psutil
    import torch

    from transferscope.machine import memory_free
    from transferscope.training import choose_precision

    allowed = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    yield Finding("processors", f"{allowed} for this process; torch would use {torch.get_num_threads()} threads")
    total = psutil.virtual_memory().total
    yield Finding("memory", f"{memory_free() / _GB:.1f} GB free for this process of {total / _GB:.1f} GB")
    for number in range(torch.cuda.device_count()):
        card = torch.cuda.get_device_properties(number)
        yield Finding(f"cuda:{number}", f'{card.name}, {card.total_memory / _GB:.0f} GB; device = "cuda" takes it')
    native = [kind for kind in ("cpu", "cuda") if choose_precision("auto", torch.device(kind)) == "bfloat16"]
    where = f"faster than float32 on {' and '.join(native)}" if native else "not faster than float32 on this machine"
    yield Finding("bfloat16", f'{where}; precision = "auto" looks for it', "ok" if native else "absent")
    if torch.backends.mps.is_available():
        yield Finding("mps", 'the GPU of this Mac; device = "mps" takes it')
    elif not torch.cuda.is_available():
        reason = "this torch is a build for processors" if torch.version.cuda is None else "torch finds none"
        yield Finding("GPU", f"none: {reason}; small networks train well without", "absent")


def _folders() -> Iterator[Finding]:
    from transferscope.data.places import cache_folder, data_folder

    cache, named = cache_folder(), data_folder()
    place = _existing(cache)
    if place.is_dir() and os.access(place, os.W_OK):
        held = sum(file.stat().st_size for file in cache.rglob("*") if file.is_file())
        what = f"{memory(held)} in it, which may be deleted at any time" if held else "empty"
        yield Finding("cache", f"{cache}, {what}; {_free(cache)}; TRANSFERSCOPE_CACHE names another folder")
    else:
        yield Finding("cache", f"{cache} cannot be written: set TRANSFERSCOPE_CACHE to a folder of yours", "wrong")
    if named is None:
        yield Finding("data", "TRANSFERSCOPE_DATA is not set: data sets by name go into the cache", "absent")
    elif named.is_dir():
        yield Finding("data", f"{named}, looked into before anything is downloaded")
    else:
        yield Finding("data", f"TRANSFERSCOPE_DATA names {named}, which is not a folder; correct or unset it", "wrong")
    here = Path.cwd()
    if os.access(here, os.W_OK):
        yield Finding("results", f"below the current folder {here}, {_free(here)}")
    else:
        yield Finding("results", f"the current folder {here} cannot be written; give --out, or go elsewhere", "wrong")


def _extras() -> Iterator[Finding]:
    """Yield the state of each extra, tested by importing its packages, which may be built for another torch."""
    from transferscope.models.hubs.hub import imported

    for extra, names in _requirements().items():
        if extra in _FOR_DEVELOPERS or not extra:
            continue
        versions = [_version(name) for name in names]
        lacking = [name for name, version in zip(names, versions, strict=True) if version is None]
        try:
            for name in names if not lacking else ():
                imported(_MODULES.get(name, name), extra)
        except TransferscopeError as error:
            yield Finding(f"[{extra}]", str(error), "absent")
            continue
        if lacking:
            yield Finding(f"[{extra}]", f"{', '.join(lacking)}: pip install '{_OWN}[{extra}]'", "absent")
        else:
            yield Finding(
                f"[{extra}]", ", ".join(f"{name} {version}" for name, version in zip(names, versions, strict=True))
            )


def _requirements() -> dict[str, list[str]]:
    """Return the packages of each extra; those of the base installation under ""."""
    required: dict[str, list[str]] = {"": []}
    for requirement in metadata.requires(_OWN) or ():
        name = re.match(r"[\w.-]+", requirement)
        extra = re.search(r"extra == [\"']([\w-]+)[\"']", requirement)
        if name is not None:
            required.setdefault(extra[1] if extra else "", []).append(name[0])
    return required


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _existing(folder: Path) -> Path:
    return next(place for place in (folder, *folder.absolute().parents) if place.exists())


def _free(folder: Path) -> str:
    return f"{shutil.disk_usage(_existing(folder)).free / _GB:.0f} GB free"
