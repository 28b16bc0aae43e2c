"""Objects nearly as large as etcd takes them, one of each ecosystem, of values that users write."""

from __future__ import annotations

from typing import Any

import orjson

from tests.hostile.bodies import good, kinds
from webhook.catalog import KnownKind

SIZE = 1_400 * 1024
"""Bytes of JSON. etcd takes requests of 1.5 MiB, in which the API server also stores who owns which field."""

Json = dict[str, Any]


def many(size: int) -> dict[str, Any]:
    """For each kind, fields of the specification of about ``size`` bytes, none with more than 50,000 values."""
    texts = {f"key-{number}": "x" * 1400 for number in range(size // 1414)}
    env = [{"name": f"VARIABLE_{name.removeprefix('key-')}", "value": text} for name, text in texts.items()]
    formats = [
        {"name": f"format-{number}", "modelFormat": {"name": "safetensors"}, "modelFramework": {"name": "x" * 90}}
        for number in range(size // 178)
    ]
    return {
        "Model": {
            "source": "hf://org/llama",
            "files": [f"llama-3.1-405b-instruct-{number:05}-of-20000-{'x' * 40}.gguf" for number in range(size // 86)],
        },
        "OpenModel": {"inferenceConfig": {"flavors": [{"name": "a100", "params": texts}]}},
        "BaseModel": {
            "storage": {"storageUri": "hf://org/llama"},
            "modelConfiguration": {"layers": [{"name": "x" * 70, "size": 1} for _ in range(size // 92)]},
        },
        "ServingRuntime": {"supportedModelFormats": formats},
        "AIMService": {"aimImageName": "llama", "env": env},
    }


def large(kind: str, size: int = SIZE) -> tuple[KnownKind, Json]:
    """An object of nearly ``size`` bytes."""
    known = kinds()[kind]
    small = good(known)
    obj = {**small, "metadata": {**small["metadata"], "name": "large"}}
    obj["spec"] = {**(small.get("spec") or {}), **many(size - len(orjson.dumps(obj)))[kind]}
    return known, obj


KINDS = tuple(many(0))
