"""The tables as the facts read them: labels and types of instances → GPU, and the models, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from tools.fit.rows import GPUS, MODELS, read

TABLES: Final = Path(__file__).parents[2] / "webhook" / "facts" / "memory" / "tables.json"
_MIB: Final = 2**20
_OF_MODEL: Final = ("match", "owners", "params_b", "native", "kv_bytes_token_fp16", "mla", "layers", "heads", "context")


def compiled() -> bytes:
    """The text of ``tables.json``."""
    gpus, models = read(GPUS), read(MODELS)
    rows = {str(row["gpu"]): _device(row) for row in gpus["gpus"]}
    labels = {str(label).lower(): str(row["gpu"]) for row in gpus["gpus"] for label in (row["gpu"], *row["labels"])}
    document = {
        "devices": rows,
        "labels": labels,
        "instances": {row["type"]: _instance(row, labels, rows) for row in gpus["instances"]},
        "suffixes": models["suffixes"],
        "models": [{key: row.get(key) for key in _OF_MODEL} for row in models["models"]],
    }
    return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)


def _device(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"bytes": row["mib_max"] * _MIB, "firm": row.get("firm", True), "shared": row.get("shared", False)}


def _instance(row: Mapping[str, Any], labels: Mapping[str, str], rows: Mapping[str, Any]) -> dict[str, Any]:
    """The GPU of a cloud's machine: what the cloud states, or the table, whatever is more."""
    name = labels.get(str(row["gpu"]).lower(), "")
    known = rows.get(name, {"bytes": 0, "shared": False})
    most = max(row["gpu_mib_stated"] * _MIB, known["bytes"])
    return {"gpu": name or row["gpu"], "bytes": most, "firm": True, "shared": known["shared"]}
