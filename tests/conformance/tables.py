"""The vendored tables: one gzipped JSON document a file, written so that the same content has the same bytes.

``tables/`` holds the answers of Kubernetes' own code, ``recorded/`` those of upstream's webhooks; each has a README.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TABLES = HERE / "tables"
RECORDED = HERE / "recorded"
SUFFIX = ".json.gz"

Document = dict[str, Any]


def table(name: str) -> Path:
    """The file of a table of Kubernetes (``defaulting``), or of upstream's webhooks (``ome``)."""
    path = RECORDED / f"{name}{SUFFIX}"
    return path if path.exists() else TABLES / f"{name}{SUFFIX}"


def all_tables() -> list[Path]:
    return [*sorted(TABLES.glob(f"*{SUFFIX}")), *sorted(RECORDED.glob(f"*{SUFFIX}"))]


def name_of(path: Path) -> str:
    return path.name.removesuffix(SUFFIX).removesuffix(".json")


def read(path: Path, object_hook: Callable[[dict[str, Any]], Any] | None = None) -> Document:
    """The document of a table, or of a plain JSON file; integers and floats stay apart, as in Go."""
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data, object_hook=object_hook)


def is_table(document: Any) -> bool:
    """Whether a document is a table: it has cases, or groups of them, or is a list of cases."""
    if isinstance(document, list):
        return bool(document) and all(isinstance(each, dict) and "id" in each for each in document)
    return isinstance(document, dict) and ("cases" in document or "groups" in document)


def write(path: Path, document: Document) -> bool:
    """Write a document, unless the file already says the same; whether it was written."""
    if path.exists() and path.suffix == ".gz" and gzip.decompress(path.read_bytes()) == dumped(document):
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed(dumped(document)))
    return True


def packed(data: bytes) -> bytes:
    """The gzip of some bytes, without a name or a time in its header."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=buffer, mtime=0) as file:
        file.write(data)
    return buffer.getvalue()


def dumped(document: Document) -> bytes:
    """One line for each case, so that ``git diff`` shows which cases changed (see ``.gitattributes``)."""
    head = "".join(f"{_line(key)}:{_line(value)},\n" for key, value in document.items() if key != "cases")
    cases = ",\n".join(_line(case) for case in document["cases"])
    return f'{{{head}"cases":[\n{cases}\n]}}\n'.encode()


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
