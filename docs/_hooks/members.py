"""Fills in the members of a family (methods, diagnostics) when the site is built, from their docstrings and fields."""

import importlib.util
import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

MARK = re.compile(r"<!-- members: ([\w.]+):(\w+) -->")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for every page."""
    return MARK.sub(lambda at: members(getattr(import_module(at[1]), at[2])), markdown)


def members(registry: Any) -> str:
    """A section for each member of transferscope itself: what its docstring says, its limits and its settings."""
    return "\n\n".join(_section(name, registry[name]) for name in registry.own)


def _section(name: str, kind: type) -> str:
    text = inspect.cleandoc(kind.__doc__ or "")
    text = re.sub(r"([*_|])", r"\\\1", text)
    text = re.sub(r"`[^`]+`", lambda code: code[0].replace("\\", ""), text)
    text = re.sub(r"arXiv:(\d{4}\.\d{4,5})", r"[arXiv:\1](https://arxiv.org/abs/\1)", text)
    if meaning := getattr(kind, "meaning", None):
        text += f"\n\n*What it cannot tell.* {meaning.limits}"
    settings = _settings_table(kind)
    return f"### {name}\n\n{text}" + (f"\n\n{settings}" if settings.count("\n") > 1 else "")


def _settings_table(kind: type) -> str:
    spec = importlib.util.spec_from_file_location("settings_hook", Path(__file__).with_name("settings.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(module.table(kind))
