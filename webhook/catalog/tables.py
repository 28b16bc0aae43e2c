"""Tables of a pack: what ``tables/<name>.yaml`` or ``.json`` says, which rules read as ``facts.tables.<name>``.

The types are those of the data: objects with the same fields are rows, and other objects whose values are of one type
are maps. What has several types is not typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources.abc import Traversable
from typing import Any, Final

from webhook.admission.errors import CatalogError, LoadError, Problem
from webhook.facts import Fact
from webhook.manifests import documents
from webhook.manifests.folders import entries

__all__ = ["FACT", "FOLDER", "fact_of_tables", "read_tables", "table_files"]

FACT: Final = "tables"
FOLDER: Final = "tables"
_LARGEST: Final = 1 << 20
"""Bytes of all tables of a pack: each process holds them."""
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,59}")
_OPEN: Final = {"x-kubernetes-preserve-unknown-fields": True}
_FIELDS: Final = 100
"""Fields of a row: with more, its type is a map, or open."""
_SCALARS: Final = {bool: "boolean", int: "integer", float: "number", str: "string"}


def table_files(folder: Traversable) -> list[Traversable]:
    """The files of a pack's tables."""
    below = folder.joinpath(FOLDER)
    files = entries(below) if below.is_dir() else ()
    return [file for file in files if file.name.endswith((".yaml", ".json")) and file.is_file()]


def read_tables(files: Sequence[tuple[str, str, bytes]]) -> dict[str, Any]:
    """The tables of files, each given by its file name, its place for errors, and its content.

    Raises:
        CatalogError: with every problem.
    """
    tables, problems = dict[str, Any](), list[Problem]()
    size = sum(len(content) for _, _, content in files)
    if size > _LARGEST:
        raise CatalogError([Problem(files[0][1], "", f"the tables have {size:,} bytes; {_LARGEST:,} are the most")])
    for file, place, content in files:
        name = file.rpartition(".")[0]
        try:
            parsed = documents.parse(content.decode(), place)
        except LoadError as error:
            problems += error.problems
            continue
        if len(parsed) != 1:
            problems.append(Problem(place, "", f"must have one document, not {len(parsed)}"))
        elif not _NAME.fullmatch(name) or name in tables:
            use = (
                "another file has this name" if name in tables else "use letters, digits and _ for the name of the file"
            )
            problems.append(Problem(place, "", use))
        else:
            tables[name] = parsed[0].value
    if problems:
        raise CatalogError(problems)
    return tables


def fact_of_tables(tables: Mapping[str, Any]) -> Mapping[str, Fact]:
    """The fact of a pack that has tables, by its name."""
    if not tables:
        return {}
    schema = {"type": "object", "properties": {name: schema_of([table]) for name, table in tables.items()}}
    return {FACT: Fact(lambda _obj, _view: tables, schema, constant=True)}


def schema_of(values: Sequence[Any]) -> Mapping[str, Any]:
    """The schema of several values that stand at the same place."""
    kinds = {type(value) for value in values}
    if kinds == {int, float}:
        kinds = {float}
    if len(kinds) != 1:
        return _OPEN
    (kind,) = kinds
    if kind in _SCALARS:
        return {"type": _SCALARS[kind]}
    if kind is list:
        items = [item for value in values for item in value]
        return {"type": "array", "items": schema_of(items) if items else {"type": "string"}}
    return _of_objects(values) if kind is dict else _OPEN


def _of_objects(values: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The schema of rows, or of maps."""
    names = list(dict.fromkeys(name for value in values for name in value))
    is_row = len(values) > 1 and all(value.keys() == values[0].keys() for value in values)
    below = schema_of([item for value in values for item in value.values()]) if names else {"type": "string"}
    if below is not _OPEN and not is_row:
        return {"type": "object", "additionalProperties": below}
    if len(names) > _FIELDS or not all(map(_NAME.fullmatch, names)):
        return {"type": "object", "additionalProperties": below}
    return {"type": "object", "properties": dict(_properties(values, names))}


def _properties(values: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name in names:
        yield name, schema_of([value[name] for value in values if name in value])
