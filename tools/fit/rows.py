"""Rows of the tables: what a recorded config.json of a model says, and what a GPU needs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

HERE: Final = Path(__file__).parent
GPUS, MODELS = HERE / "gpus.yaml", HERE / "models.yaml"

_EXPERTS: Final = ("num_experts", "num_local_experts", "n_routed_experts")
_NOT_ATTENTION: Final = ("mamba", "ssm", "linear_attn", "layer_types", "hybrid", "full_attention_interval")
_NORMS: Final = 0.999
"""Norms and biases are left out of the sum; a router counts fully. What is published may be lower still."""


class RefusedRowError(ValueError):
    """A row that cannot be proven."""


def read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return document


def model_row(
    config: Mapping[str, Any], match: str, owners: list[str], source: str, published: float | None
) -> dict[str, Any]:
    """The row of a model from its config.json; ``published``: 10^9 parameters, where that is less.

    Raises:
        RefusedRowError: the configuration does not say enough.
    """
    text = config.get("text_config")
    layers = text if isinstance(text, dict) and text.get("num_hidden_layers") else config
    if not source.strip() or not owners:
        raise RefusedRowError("a row needs the source of its config.json, and the owner of the repository")
    try:
        re.compile(match)
        params = parameters(layers) / 1e9
        shape = _shape(layers)
    except (KeyError, TypeError, re.error) as error:
        raise RefusedRowError(f"the config.json does not say {error}") from error
    computed = int(params * 1000) / 1000  # rounded down
    row = {"match": match, "owners": owners, "params_b": min(computed, published or computed), **shape}
    return {**row, "native": native(config), "source": source}


def native(config: Mapping[str, Any]) -> str:
    """The precision of the weights: ``quantization_config`` outranks the type of a tensor."""
    given = config.get("quantization_config") or {}
    method = given.get("quant_method") if isinstance(given, dict) else None
    return str(method) if method else "bf16"


def _shape(config: Mapping[str, Any]) -> dict[str, Any]:
    heads, layers, hidden = config["num_attention_heads"], config["num_hidden_layers"], config["hidden_size"]
    kv = config.get("num_key_value_heads") or heads
    size = config.get("head_dim") or hidden // heads
    latent = config.get("kv_lora_rank")
    mla = latent + config["qk_rope_head_dim"] if latent else None
    other = any(word in key for key in config for word in _NOT_ATTENTION) or config.get("sliding_window")
    cache = None if other else 2 * layers * mla if mla else 4 * layers * kv * size
    shape = {"layers": layers, "heads": heads, "kv_heads": kv, "head_dim": size}
    shape |= {"mla": mla} if mla else {}
    return {**shape, "kv_bytes_token_fp16": cache, "hidden": hidden, "context": config["max_position_embeddings"]}


def parameters(config: Mapping[str, int]) -> float:
    """The parameters of a decoder, a lower bound: embeddings, attention, and the dense or all expert layers.

    Raises:
        KeyError: the configuration does not say enough.
    """
    hidden, layers = config["hidden_size"], config["num_hidden_layers"]
    embeddings = config["vocab_size"] * hidden * (1 if config.get("tie_word_embeddings", True) else 2)
    experts = next((config[key] for key in _EXPERTS if config.get(key)), 0)
    dense = 3 * hidden * config["intermediate_size"]
    if not experts:
        return _NORMS * (embeddings + layers * (_attention(config) + dense))
    first = config.get("first_k_dense_replace") or 0
    width = config.get("moe_intermediate_size") or config["intermediate_size"]
    sparse = 3 * hidden * width * (experts + (config.get("n_shared_experts") or 0)) + hidden * experts
    return _NORMS * (embeddings + layers * _attention(config) + first * dense + (layers - first) * sparse)


def _attention(config: Mapping[str, int]) -> int:
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    if latent := config.get("kv_lora_rank"):
        rope, plain, value = (config[key] for key in ("qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim"))
        low, wide = config.get("q_lora_rank"), heads * (rope + plain)
        query = hidden * low + low * wide if low else hidden * wide
        return int(query + hidden * (latent + rope) + latent * heads * (plain + value) + heads * value * hidden)
    size = config.get("head_dim") or hidden // heads
    kv = config.get("num_key_value_heads") or heads
    return int(2 * hidden * heads * size + 2 * hidden * kv * size)


def gpu_row(name: str, gib: int, labels: list[str], source: str, *, firm: bool, vendor: str) -> dict[str, Any]:
    """The row of a GPU with so many GB, taken as GiB.

    Raises:
        RefusedRowError: it has no source, or no label.
    """
    known = read(GPUS)["sources"]
    if source not in known:
        raise RefusedRowError(f"{source!r} is not among the sources of gpus.yaml: {', '.join(known)}")
    if not labels or gib <= 0:
        raise RefusedRowError("a row needs the memory of the GPU and the labels that nodes have")
    row = {"gpu": name, "vendor": vendor, "mib_max": gib * 1024}
    return {**row, **({} if firm else {"firm": False}), "labels": labels, "sources": [source]}


def add(path: Path, row: Mapping[str, Any], before: str = "") -> None:
    """Add a row to the end of its table: before the line ``before``, or at the end."""
    line = f"- {yaml.safe_dump(dict(row), default_flow_style=True, sort_keys=False, width=10**6).strip()}\n"
    text = path.read_text(encoding="utf-8")
    place = text.index(f"\n{before}\n") + 1 if before else len(text)
    path.write_text(text[:place] + line + text[place:], encoding="utf-8")
