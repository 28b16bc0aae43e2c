"""Terraform: ``helm_release``, as far as its version and values are literals; a variable is a variable."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from webhook.admission.errors import Problem
from webhook.library.pins.collector import Collector, PlacedRelease
from webhook.library.pins.hcl import Block, File, HclError, blocks
from webhook.library.pins.values import Values, set_values
from webhook.manifests.documents import Document

_MODULE: Final = "${path.module}/"
_SETS: Final = ("set", "set_list", "set_sensitive")


def read_terraform(file: Path, text: str, collector: Collector) -> None:
    """Collect the pins of a file of Terraform."""
    try:
        outermost = blocks(text)
    except HclError as error:
        why = f"not read for the release of an operator: {error}"
        collector.remarks.append(Problem(collector.tree.name(file), "", why))
        return
    for block in outermost:
        if block.names[:2] == ("resource", "helm_release"):
            _release(block, file, collector)


def _release(block: Block, file: Path, collector: Collector) -> None:
    operators, written = collector.operators, block.attributes
    if api := operators.of_chart(written.get("chart")):
        at = Document(str(file), block.lines.get("version", block.line), {})
        where = Document(str(file), block.line, {"metadata": {"name": " ".join(block.names[2:])}})
        release = PlacedRelease(operators.of_chart_version(api, written.get("version")), at, ())
        collector.deploy(api, release, where, [*_values(block, file, collector)])


def _values(block: Block, file: Path, collector: Collector) -> Iterator[Values]:
    """The values of a release: texts and files in their order, then what is set."""
    at = Document(str(file), block.lines.get("values", block.line), {})
    values = block.attributes.get("values")
    for value in values if isinstance(values, list) else ():
        if isinstance(value, File):
            yield from collector.file_values(file.parent / value.path.removeprefix(_MODULE))
        elif isinstance(value, dict):
            yield Values(at, (), value, is_inside=False)
        elif isinstance(value, str) and not value.startswith("${"):
            yield from collector.values_in(at, (), value)
    for key in _SETS:
        items = [inner.attributes for inner in block.blocks if inner.names == (key,)]
        listed = block.attributes.get(key)
        items += [pair for pair in listed if isinstance(pair, dict)] if isinstance(listed, list) else []
        yield from set_values(at, (), [(pair.get("name"), pair.get("value")) for pair in items])
