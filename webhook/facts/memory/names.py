"""Which model a name means: of a repository, or of a GGUF file. Names are matched whole, in lower case."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final, NamedTuple

from webhook.facts.memory.bounds import TABLES

_LONGEST: Final = 200
"""Characters of a name that is read: a repository's has at most 96, a file's 200."""
_LITERAL: Final = re.compile(r"[a-z0-9-]*")
_SHARD: Final = re.compile(r"-[0-9]{5}-of-[0-9]{5}\Z")
_FILE: Final = re.compile(
    r"(?P<name>.+?)[-.](?P<quantization>(?:IQ|TQ|Q)[1-8](?:_[0-9A-Z]+)*|BF16|F16|F32|FP16|MXFP4)", re.IGNORECASE
)
_OTHERWISE: Final = re.compile(
    r"(?:^|[^a-z])(?:ud|dynamic|draft|mtp|eagle[0-9]*|medusa|lora|adapter|mmproj|imatrix)(?:[^a-z]|$)"
)
"""What a file may be beside the model, or instead of it."""


class Model(NamedTuple):
    """A model by its name. ``params`` is None where its configuration is not recorded.

    ``native`` is the precision of its repository, of two rows the lower one. ``cache`` are bytes of a token in 16 bits,
    of all layers (0: unknown), with ``mla`` on each rank. ``canonical``: the repository is the owner's own.
    """

    params: int | None
    native: tuple[str, ...]
    cache: int
    mla: bool
    layers: int
    heads: int
    context: int
    canonical: bool
    name: str


class _Row(NamedTuple):
    literal: str
    pattern: str
    owners: frozenset[str]
    params: int | None
    native: str
    cache: int
    mla: bool
    layers: int
    heads: int
    context: int


@cache
def _rows() -> tuple[_Row, ...]:
    return tuple(
        _Row(
            _literal(row["match"]),
            row["match"],
            frozenset(owner.lower() for owner in row["owners"]),
            None if row["params_b"] is None else int(row["params_b"] * 1e9),
            row["native"],
            row["kv_bytes_token_fp16"] or 0,
            row["mla"] is not None,
            row["layers"] or 0,
            row["heads"] or 0,
            row["context"] or 0,
        )
        for row in TABLES["models"]
    )


def _literal(pattern: str) -> str:
    """The text with which every match begins."""
    match = _LITERAL.match(pattern)
    text = match[0] if match else ""
    return text[:-1] if pattern[len(text) : len(text) + 1] in {"?", "*", "{", "|"} else text


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(f"({pattern}){TABLES['suffixes']}")


@lru_cache(maxsize=1024)
def _named(name: str, owner: str | None) -> Model | None:
    """The model of a whole name: the longest match decides; parameters are those of the longest row with some."""
    matches = [
        (len(match[1]), row)
        for row in _rows()
        if name.startswith(row.literal) and (match := _compiled(row.pattern).fullmatch(name))
    ]
    if not matches:
        return None
    by_length = [row for _, row in sorted(matches, key=lambda match: -match[0])]
    first = by_length[0]
    weighed = next((row for row in by_length if row.params is not None), None)
    canonical = owner is not None and any(owner in row.owners for row in by_length)
    native = (first.native,) if weighed is None else (first.native, weighed.native)
    params = None if weighed is None else weighed.params
    return Model(params, native, first.cache, first.mla, first.layers, first.heads, first.context, canonical, name)


def model_of_repository(repository: str) -> Model | None:
    """The model of ``owner/name``; None if the name is not in the table."""
    owner, slash, name = repository.strip().lower().rpartition("/")
    if not slash or len(repository) > _LONGEST:
        return None
    return _named(name, owner)


class NamedFile(NamedTuple):
    """A GGUF file: the model that its name means, if it is one of the table, and the quantization."""

    model: Model | None
    quantization: str
    is_whole: bool


@lru_cache(maxsize=1024)
def model_of_file(path: str) -> NamedFile | None:
    """What the name of a GGUF file tells; None if it tells nothing. ``is_whole``: it is the model, and nothing else."""
    name = path.rpartition("/")[2]
    if len(name) > _LONGEST or not name.lower().endswith(".gguf"):
        return None
    match = _FILE.fullmatch(_SHARD.sub("", name[: -len(".gguf")]))
    if match is None:
        return None
    of_model = match["name"].lower()
    is_whole = _OTHERWISE.search(of_model) is None
    return NamedFile(_named(of_model, None), match["quantization"].upper(), is_whole)
