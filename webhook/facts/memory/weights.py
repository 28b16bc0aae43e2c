"""Bytes of weights, and of a cache of keys and values, in the memory of GPUs: lower bounds.

llama.cpp keeps the table of input embeddings in the memory of the node: a share of the file never comes to a GPU. Of a
cache, that of one sequence counts, and only layers with full attention.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from webhook.facts.memory.bounds import GIB, Bound
from webhook.facts.memory.names import Model, NamedFile

_FLOORS: Final = {
    "IQ1_S": 1.5625,
    "IQ1_M": 1.75,
    "IQ2_XXS": 2.0625,
    **dict.fromkeys(("IQ2_XS", "IQ2_S"), 2.3125),
    "IQ2_M": 2.5625,
    **dict.fromkeys(("Q2_K", "Q2_K_S"), 2.625),
    **dict.fromkeys(("IQ3_XXS", "IQ3_XS"), 3.0625),
    **dict.fromkeys(("IQ3_S", "IQ3_M", "Q3_K_S", "Q3_K_M", "Q3_K_L"), 3.4375),
    **dict.fromkeys(("IQ4_XS", "MXFP4"), 4.25),
    **dict.fromkeys(("IQ4_NL", "Q4_0", "Q4_K_S", "Q4_K_M"), 4.5),
    "Q4_1": 5.0,
    **dict.fromkeys(("Q5_0", "Q5_K_S", "Q5_K_M"), 5.5),
    "Q5_1": 6.0,
    "Q6_K": 6.5625,
    "Q8_0": 8.5,
    **dict.fromkeys(("F16", "BF16", "FP16"), 16.0),
    "F32": 32.0,
}
"""Bits of a weight in the smallest tensor type of a file type, with its scales (llama.cpp, ggml-common.h)."""

_UNITS: Final = {
    "B": 1,
    "KB": 2**10,
    "KIB": 2**10,
    "MB": 2**20,
    "MIB": 2**20,
    "GB": GIB,
    "GIB": GIB,
    "TB": 2**40,
    "TIB": 2**40,
}
"""LLMKube divides by 1,024 whatever the unit is called."""
_SIZE: Final = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,3}))? ?([KMGT]?I?B)", re.IGNORECASE)
_STATED: Final = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)([MBT])")
_ROUNDED: Final = 0.95
"""Some tensors of a repository in 4 bits may be left out of it, or be counted with it."""
_LOW: Final = 4 * _ROUNDED
_LONGEST: Final = 200
"""Characters of a name that are read, from its end."""


def size_of_text(text: str) -> int | None:
    """The bytes that ``39.6 GiB`` has at least: half of its last digit less. None for "", "0" and other texts."""
    match = _SIZE.fullmatch(text.strip()) if len(text) < 40 else None
    if match is None:
        return None
    unit, decimals = _UNITS[match[3].upper()], match[2] or ""
    least = int((float(f"{match[1]}.{decimals or 0}") - 0.5 * 10 ** -len(decimals)) * unit)
    return least if least > 0 else None


def _on_gpus(size: int) -> int:
    """The share of a GGUF file that comes to GPUs: embeddings have at most 9.6 % from 8 GiB, and 12 % from 4 GiB."""
    share = 0.90 if size >= 8 * GIB else 0.85 if size >= 4 * GIB else 0.5
    return int(size * share)


_LAYER_EMBEDDINGS: Final = re.compile(r"gemma[-_.]?3n|gemma[-_.]?4[-_.]?e[0-9]|\A(?!.*(?:12|26|31)b).*gemma4\Z")


def keeps_layer_embeddings(file: str, architecture: str) -> bool:
    """Whether a GGUF file may have embeddings of each layer, which llama.cpp keeps in the memory of the node, too."""
    return _LAYER_EMBEDDINGS.search(f"{file[-_LONGEST:]} {architecture[:_LONGEST]}".lower()) is not None


def of_size(size: int, source: str, *, layer_embeddings: bool = False) -> Bound:
    """The weights of a GGUF file of so many bytes. Embeddings of each layer are up to 57 % of the parameters (Gemma 3n
    E2B: 262,144 x (30 x 256 + 2,048) of 4.46 billion), in more bits than the others.
    """
    return Bound(int(size * 0.3) if layer_embeddings else _on_gpus(size), True, source)


def of_file(file: NamedFile) -> Bound | None:
    """The weights of a GGUF file by its name; None if it does not tell the model and the quantization."""
    bits = _FLOORS.get(file.quantization)
    if bits is None or file.model is None or file.model.params is None or not file.is_whole:
        return None
    source = f"{file.model.name} in {file.quantization}: {file.model.params / 1e9:.4g}B x {bits} bits"
    return Bound(_on_gpus(int(file.model.params * bits / 8)), True, source)


def of_repository(model: Model, precisions: Iterable[str] = (), *, chosen_elsewhere: bool = False) -> Bound | None:
    """The weights of a repository of safetensors; ``precisions`` are those that the object asks for.

    ``chosen_elsewhere``: the precision is not that of the repository. A repository of others is probable, in 4 bits.
    """
    if model.params is None:
        return None
    named = [*precisions, *_words_of(model.name)]
    bits = min(map(_bits, named)) if named else min(map(_bits, model.native))
    if chosen_elsewhere or not model.canonical:
        bits = _LOW
    source = f"{model.name}: {model.params / 1e9:.4g}B x {bits:.3g} bits"
    return Bound(int(model.params * bits / 8), model.canonical, source)


def _words_of(name: str) -> list[str]:
    """The precision that the name of a repository tells."""
    words = re.split(r"[-_.]", name)
    return [
        word for word in words if re.fullmatch(r"fp8|fp4|nvfp4|mxfp4|int[48]|awq|gptq|w[48]a(8|16)|bnb|[48]bit", word)
    ]


def _bits(precision: str) -> float:
    """Bits of a weight, at least; anything that is not known counts as 4."""
    text = precision.lower()
    if text in {"bf16", "bfloat16", "fp16", "float16", "f16"}:
        return 16
    if text in {"fp8", "int8", "fbgemm_fp8", "float-quantized"}:
        return 8
    return 4.25 * _ROUNDED if text == "mxfp4" else _LOW


_OF_STATEMENT: Final = {"int4": _LOW, "fp8": 8.0, "fbgemm_fp8": 8.0}


def of_statement(parameters: str, quantization: Any) -> Bound | None:
    """The weights of a number of parameters as OME has it (``70B``), a tenth less: probable."""
    match = _STATED.fullmatch(parameters) if len(parameters) < 20 else None
    if match is None:
        return None
    count = float(match[1]) * {"M": 1e6, "B": 1e9, "T": 1e12}[match[2]]
    bits = _OF_STATEMENT.get(quantization, _LOW) if isinstance(quantization, str) else _LOW
    return Bound(int(count * 0.9 * bits / 8), False, f"modelParameterSize {parameters} x {bits:.3g} bits, a tenth less")


_BYTES: Final = {
    "f32": 4.0,
    **dict.fromkeys(("f16", "bf16", ""), 2.0),
    "q8_0": 1.0625,
    "q5_1": 0.75,
    "q5_0": 0.6875,
    "q4_1": 0.625,
    **dict.fromkeys(("q4_0", "iq4_nl"), 0.5625),
}
"""Bytes of an element of llama.cpp's cache, with its scales."""


def element_bytes(kind: str) -> float:
    """Bytes of an element of a type of llama.cpp's cache; 0 for an unknown type: nothing is counted then."""
    return _BYTES.get(kind.lower(), 0.0)


def cache_bytes(model: Model | None, tokens: int, share: float = 1.0, ranks: int = 1) -> int:
    """The cache of so many tokens; ``share`` of the size in 16 bits. With MLA each of the ``ranks`` has all of it."""
    if model is None or tokens <= 0:
        return 0
    return int(tokens * model.cache * share * (ranks if model.mla else 1))
