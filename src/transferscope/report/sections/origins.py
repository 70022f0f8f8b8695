"""Where the numbers come from: settings, data with checksums and licences, versions and seeds."""

import json
from collections.abc import Iterator, Mapping

from transferscope.report.blocks import Block, Cell, Column, Folded, Listing, Section, Table, Text
from transferscope.report.results import Summary
from transferscope.wording import listed, weights_in_words


def origins_section(summary: Summary) -> Section:
    """The study file, data, versions and machine as the store has them."""
    study = summary.frames.study
    facts = dict(study.facts)
    blocks: list[Block] = [
        Text(
            f"Study {study.name}, first planned {study.created}; seeds "
            f"{listed([str(seed) for seed in summary.frames.seeds])}."
        )
    ]
    data = _data_table(facts)
    if data.rows:
        blocks.append(data)
    blocks.append(Folded("Settings (the validated study file)", (Listing(_pretty(study.spec)),)))
    blocks.append(Folded("All facts: data, versions, machine", (_facts_table(facts),)))
    return Section("Where this comes from", "origins", tuple(blocks))


def _data_table(facts: Mapping[str, object]) -> Table:
    """The target and every source, one row each."""
    rows = []
    target, sources = facts.get("target"), facts.get("sources")
    if isinstance(target, Mapping):
        rows.append(_data_row("target", target))
    if isinstance(sources, Mapping):
        rows.extend(_data_row(f"source {name}", entry) for name, entry in sources.items() if isinstance(entry, Mapping))
    titles = ("Data", "Training examples", "Test examples", "Licence", "Address or file", "Checksum of the content")
    columns = tuple(Column(title, numeric="examples" in title) for title in titles)
    return Table(columns, tuple(rows), "Data")


def _data_row(role: str, entry: Mapping[str, object]) -> tuple[Cell, ...]:
    if "network" in entry:  # a file of weights
        weights = Cell(weights_in_words(entry))
        return Cell(role), Cell("–"), Cell("–"), Cell("–"), weights, Cell(str(entry["network"]))
    provenance = entry.get("provenance")
    origin = provenance if isinstance(provenance, Mapping) else {}
    understood = origin.get("understood")
    address = origin.get("address") or origin.get("spec") or "–"
    return (
        Cell(str(entry.get("name", role)), f"{role}: {understood}" if understood else role),
        Cell(_count(entry.get("n_train"))),
        Cell(_count(entry.get("n_test"))),
        Cell(str(origin.get("licence", "–"))),
        Cell(str(address), str(origin.get("transforms", ""))),
        Cell(str(entry.get("fingerprint", "–"))),
    )


def _count(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else "–"


def _facts_table(facts: Mapping[str, object]) -> Table:
    rows = tuple((Cell(key), Cell(value)) for key, value in _flattened(facts))
    return Table((Column("Fact", numeric=False), Column("Value", numeric=False)), rows)


def _flattened(facts: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in facts.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{path}.")
        elif isinstance(value, list | tuple):
            yield path, ", ".join(str(item) for item in value)
        else:
            yield path, str(value)


def _pretty(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)
