"""The JSON Schema of a study file, generated from its settings."""

from collections.abc import Mapping
from typing import Any

from transferscope.diagnostics import DIAGNOSTICS
from transferscope.methods import METHODS
from transferscope.models import NetworkSettings
from transferscope.settings.data import TargetSettings, TuningSettings
from transferscope.settings.engine import DEVICES, DecisionSettings, EngineSettings, RaceSettings, TrackSettings
from transferscope.study.commands.settings import RunSettings
from transferscope.study.settings import MeasurementScope, SourceSettings
from transferscope.study.spec import MOST_SEEDS, NAME_OF_STUDY, FurtherPretraining, Header
from transferscope.study.tables import json_schema_of
from transferscope.training import TrainingSettings

VERSION = 1
"""Of the study file. Keys may be added within a version; one that goes, or means something else, takes the next."""

_REFERENCE = ".:."  # "package.module:Class", "path/to/file.py:Class"


def study_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 7) of study files, with the methods and diagnostics of installed packages.

    It covers keys, types, choices and ranges, but not the further checks of `read_spec`, such as whether a name exists.
    """
    definitions: dict[str, Any] = {}
    training = json_schema_of(TrainingSettings, definitions)
    training["not"] = {"required": ["steps", "epochs"]}
    long_enough = {"oneOf": [{"required": ["steps"]}, {"required": ["epochs"]}]}
    further = json_schema_of(FurtherPretraining, definitions)["properties"]
    methods = _family("method", METHODS, {}, definitions)
    scope = json_schema_of(MeasurementScope, definitions)["properties"]
    measured = _family("diagnostic", DIAGNOSTICS, scope, definitions)
    engine = json_schema_of(EngineSettings, definitions)
    engine["properties"]["device"]["pattern"] = f"^({DEVICES})$"
    one = {"type": ["string", "number"]}
    arm = {
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "The command of this arm, in place of that of [run]."},
            "without_source": {"type": "boolean", "description": "Whether it transfers from nothing."},
        },
        "additionalProperties": {"anyOf": [one, {"type": "array", "items": one, "minItems": 1, "uniqueItems": True}]},
    }
    header = json_schema_of(Header, definitions)["properties"]
    header["name"]["pattern"] = f"^{NAME_OF_STUDY}$"
    header["seeds"]["anyOf"] = [
        {"type": "integer", "minimum": 1, "maximum": MOST_SEEDS},
        {"type": "array", "items": {"type": "integer", "minimum": 0}, "uniqueItems": True, "minItems": 1},
    ]
    tables = {
        **header,
        "target": json_schema_of(TargetSettings, definitions),
        "sources": {"type": "object", "additionalProperties": json_schema_of(SourceSettings, definitions)},
        "network": json_schema_of(NetworkSettings, definitions),
        "pretraining": {**training, "properties": {**training["properties"], **further}},
        "training": training,
        "methods": {**methods, "minProperties": 1},
        "tuning": json_schema_of(TuningSettings, definitions),
        "diagnostics": {"anyOf": [{"type": "array", "items": {"type": "string"}}, measured]},
        "engine": engine,
        "decision": json_schema_of(DecisionSettings, definitions),
        "race": json_schema_of(RaceSettings, definitions),
        "track": json_schema_of(TrackSettings, definitions),
        "run": json_schema_of(RunSettings, definitions),
        "arms": {"type": "object", "minProperties": 1, "additionalProperties": arm},
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": f"urn:transferscope:study:{VERSION}",
        "title": "A study file of transferscope",
        "type": "object",
        "properties": tables,
        "required": ["name"],
        "anyOf": [
            {"required": ["target", "methods"]},
            {"required": ["run", "arms"], "properties": {"run": {"required": ["score"]}}},
        ],
        "if": {"properties": {"recipe": {"const": "equal"}}, "required": ["recipe", "target"]},
        "then": {"required": ["training"], "properties": {"training": long_enough, "pretraining": long_enough}},
        "additionalProperties": False,
        "definitions": definitions,
    }


def _family(
    key: str, members: Mapping[str, type], further: Mapping[str, Any], definitions: dict[str, Any]
) -> dict[str, Any]:
    """Return the schema of tables of methods or diagnostics, by table name, or by `key` in a table of another name."""
    cases, named = [], {}
    for name, kind in members.items():
        one = json_schema_of(kind, definitions)
        one["properties"] = {**one["properties"], **further, key: {"type": "string"}}
        definitions[f"{key}:{name}"] = one
        reference = {"$ref": f"#/definitions/{key}:{name}"}
        cases.append({"if": {"properties": {key: {"const": name}}, "required": [key]}, "then": reference})
        named[name] = {"if": {"required": [key]}, "then": {"$ref": f"#/definitions/{key}"}, "else": reference}
    known = {"anyOf": [{"enum": list(named)}, {"type": "string", "pattern": _REFERENCE}]}
    definitions[key] = {"type": "object", "required": [key], "properties": {key: known}, "allOf": cases}
    return {
        "type": "object",
        "properties": named,
        "patternProperties": {_REFERENCE: {"type": "object"}},  # settings of another package's, which only it knows
        "additionalProperties": {"$ref": f"#/definitions/{key}"},
    }
