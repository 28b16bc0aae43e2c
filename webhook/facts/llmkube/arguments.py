"""The arguments of a runtime's server, as LLMKube writes them (``runtime_*.go``): they differ by release."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from math import gcd
from typing import Any, Final, NamedTuple

import orjson

from webhook.facts.llmkube.flags import (
    CONTEXT,
    LLAMACPP,
    PERSONAPLEX,
    ROPE,
    SGLANG,
    SGLANG_CACHE,
    SGLANG_GPU,
    SGLANG_LORA,
    SGLANG_SPECULATIVE,
    TGI,
    VLLM,
    VLLM_GPU,
    VLLM_SPECULATIVE,
    flags,
    fraction,
    listed,
    number,
    positive,
    repeated,
    several,
    switch,
    word,
)
from webhook.facts.llmkube.layers import layer_range
from webhook.facts.llmkube.source import served_as, staged
from webhook.facts.nodes import at, items, mapping, text, texts, whole
from webhook.golang.strconv import shortest


class Server(NamedTuple):
    """What the arguments are made of.

    ``service`` and ``model`` are specifications, ``path`` and ``draft`` the staged files, "" without. ``gpus`` are
    counted, ``has_gpu`` is true of claimed ones, too. ``since`` is the number of the release: 11 for 0.9.11.
    """

    service: dict[str, Any]
    model: dict[str, Any]
    path: str
    draft: str
    port: int
    gpus: int
    has_gpu: bool
    since: int

    @property
    def extra(self) -> list[str]:
        return texts(self.service, "extraArgs")

    @property
    def source(self) -> str:
        return self.path or served_as(text(self.model, "source"), self.since)

    def lacks(self, flag: str) -> bool:
        """Whether the user does not pass a flag, in the only two spellings that the operator looks for."""
        return not any(extra == flag or extra.startswith(f"{flag}=") for extra in self.extra)

    def address(self, flag: str, *between: str) -> Iterator[str]:
        """Where the server listens; ``between`` stands behind the port. The address could not be set before 0.9.11."""
        port = "--port", str(self.port)
        if self.since < 11:
            yield from (flag, "::", *port, *between)
            return
        yield from (*port, *between)
        if self.lacks(flag):
            yield from (flag, text(self.service, "bindAddress") or "::")


def arguments(server: Server) -> list[str]:
    """The arguments of the container; empty for a generic one without any."""
    return [*_RUNTIMES.get(text(server.service, "runtime"), _llamacpp)(server)]


def _llamacpp(server: Server) -> Iterator[str]:
    spec = server.service
    yield from ("--model", server.path)
    yield from server.address("--host")
    if server.has_gpu:
        yield from _offloading(server)
    yield from flags(spec, CONTEXT)
    if text(spec, "ropeScaling", "type") and server.lacks("--rope-scaling"):
        yield from flags(at(spec, "ropeScaling"), ROPE)
    if server.lacks("--parallel"):
        yield from positive("--parallel", at(spec, "parallelSlots"))
    if server.has_gpu and at(spec, "flashAttention") is True:
        yield from ("--flash-attn", "on")
    yield from flags(spec, LLAMACPP)
    yield from _companions(server)
    yield from repeated("--override-kv", at(spec, "metadataOverrides"))
    yield from _serving(server)
    yield from server.extra
    yield from _metrics(server)


def _metrics(server: Server) -> Sequence[str]:
    return ("--metrics",) if server.since < 14 or server.lacks("--metrics") else ()


def _offloading(server: Server) -> Iterator[str]:
    """How the layers of a model are spread over the GPUs of a pod (gpu_sharding.go)."""
    layers = whole(server.model, "hardware", "gpu", "layers") or 0
    yield from ("--n-gpu-layers", str(layers if layers > 0 else 99))
    if server.gpus <= 1:
        return
    sharding = mapping(server.model, "hardware", "gpu", "sharding")
    mode = {"row": "row", "tensor": "row", "none": "none"}.get(text(sharding, "strategy"), "layer")
    yield from ("--split-mode", mode)
    if mode != "none":
        yield from ("--tensor-split", _shares(server.gpus, texts(sharding, "layerSplit")))


_MOST_GPUS: Final = 1_000
"""GPUs of a pod whose shares are written out."""


def _shares(gpus: int, layers: Sequence[str]) -> str:
    """The share of each GPU: of the layers, if there is a range for each of them, else the same."""
    ranges = [layer_range(layer) for layer in layers] if len(layers) == gpus else []
    sizes = [last - first + 1 for first, last in filter(None, ranges)]
    if not ranges or len(sizes) < len(ranges):
        return ",".join(["1"] * min(gpus, _MOST_GPUS))
    return ",".join(str(size // reduce(gcd, sizes)) for size in sizes)


_DRAFTS: Final = frozenset({"draft-simple", "draft-eagle3", "draft-dflash", "draft-dspark", "draft-mtp"})
"""Types of speculation that read the weights of a second model."""
_OLD_TYPES: Final = {"mtp": "draft-mtp", "draft": "draft"}
_TYPES: Final = {"mtp": "draft-mtp", "draft": "draft-simple", "disabled": "", "none": ""}


def reads_draft(kind: str) -> bool:
    """Whether a type of speculation reads the weights of a second model."""
    return _TYPES.get(kind, kind) in _DRAFTS


def _companions(server: Server) -> Iterator[str]:
    """What is beside the model: the draft of its speculation, the budget of its reasoning, its projector."""
    folder = _folder(server)
    yield from _speculation(server, folder)
    budget = number("--reasoning-budget", at(server.service, "reasoningBudget"))
    if budget:
        yield from (*budget, *word("--reasoning-budget-message", at(server.service, "reasoningBudgetMessage")))
    projector = text(server.model, "mmproj")
    if folder and projector and server.lacks("--mmproj"):
        yield from ("--mmproj", f"{folder}/{projector}")


def _folder(server: Server) -> str:
    """Where the files of a model of several files are staged, "" without."""
    files = staged(texts(server.model, "files"), text(server.model, "mmproj")).staged
    return server.path.removesuffix(f"/{files[0]}") if files and server.path else ""


def _speculation(server: Server, folder: str) -> Iterator[str]:
    """``--draft-n-max``, of which llama.cpp knows nothing, became another flag with 0.9.14."""
    spec = mapping(server.service, "speculativeDecoding")
    kind = text(spec, "type")
    renamed = _OLD_TYPES.get(kind, "") if server.since < 15 else _TYPES.get(kind, kind)
    if not renamed:
        return
    yield from ("--spec-type", renamed)
    beside = text(spec, "draftModel")
    draft = server.draft or (f"{folder}/{beside}" if folder and beside else "")
    if draft and renamed in _DRAFTS:
        yield from ("-md", draft)
    yield from positive("--draft-n-max" if server.since < 14 else "--spec-draft-n-max", at(spec, "nDraftMax"))
    least = at(spec, "pMin")
    if fraction("", least):
        yield from ("--spec-draft-p-min", shortest(float(least)))


_SERVING: Final = {
    "rerank": (("--reranking",), ("--embedding",), ("--pooling", "rank"), ("--cache-ram", "0")),
    "embedding": (("--embedding",), ("--pooling", "last"), ("--cache-ram", "0")),
}


def _serving(server: Server) -> Iterator[str]:
    for flag, *value in _SERVING.get(text(server.service, "mode"), ()):
        if server.lacks(flag) and not (flag == "--cache-ram" and server.since < 15):
            yield from (flag, *value)


def _router(server: Server) -> Iterator[str]:
    yield from ("--models-dir", "/models")
    yield from server.address("--host")
    yield from (*_metrics(server), *server.extra)


def _vllm(server: Server) -> Iterator[str]:
    yield server.source
    yield from server.address("--host")
    config = mapping(server.service, "vllmConfig")
    yield from _without_auto(flags(config, VLLM))
    speculative = mapping(config, "speculative")
    if speculative.get("enabled") is True and text(speculative, "model"):
        yield from flags(speculative, VLLM_SPECULATIVE)
    yield from switch("--enable-expert-parallel", config.get("enableExpertParallel"))
    if server.gpus > 0:
        yield from flags(config, VLLM_GPU)
    if config.get("tensorParallelSize") is None:
        yield from several("--tensor-parallel-size", server.gpus)
    if server.lacks("--max-num-seqs"):
        yield from positive("--max-num-seqs", at(server.service, "parallelSlots"))
    yield from server.extra


def _without_auto(flags: Iterator[str]) -> Iterator[str]:
    """The type ``auto`` of a cache is not passed on."""
    for flag in flags:
        if flag != "--kv-cache-dtype":
            yield flag
        elif (kind := next(flags)) != "auto":
            yield from (flag, kind)


def _sglang(server: Server) -> Iterator[str]:
    yield from ("--model-path", server.source)
    yield from server.address("--host", "--enable-metrics")
    if server.lacks("--served-model-name"):
        yield from word("--served-model-name", at(server.service, "modelRef"))
    config = mapping(server.service, "sglangConfig")
    yield from flags(config, SGLANG)
    if server.gpus > 0:
        yield from flags(config, SGLANG_GPU)
    yield from _without_auto(flags(config, SGLANG_CACHE))
    speculative = mapping(config, "speculative")
    if speculative.get("enabled") is True and text(speculative, "algorithm") and text(speculative, "draftModelPath"):
        yield from flags(speculative, SGLANG_SPECULATIVE)
    yield from _adapters(config, server.since)
    if config.get("tensorParallelSize") is None:
        yield from several("--tp", server.gpus)
    if _mode(server) == "embedding" and server.lacks("--is-embedding"):
        yield "--is-embedding"
    yield from server.extra


def _adapters(config: Mapping[str, Any], since: int) -> Iterator[str]:
    """LoRA adapters: before 0.9.6 as one text, of which SGLang knows nothing."""
    modules = texts(config, "loraModules")
    if since < 6:
        yield from word("--lora-modules", ",".join(modules))
        yield from number("--max-lora-rank", config.get("maxLoraRank"))
        yield from word("--lora-target-modules", ",".join(texts(config, "loraTargetModules")))
        return
    typed = [(name, text(one, "path")) for one in items(config, "loraAdapters") if (name := text(one, "name"))]
    taken = {"", *(name for name, _ in typed)}
    pairs = [*typed, *(pair for pair in map(_adapter, modules) if pair[0] not in taken)]
    yield from listed("--lora-paths", [f"{name}={path}" for name, path in pairs])
    yield from flags(config, SGLANG_LORA)


def _adapter(module: str) -> tuple[str, str]:
    """Name and path of an adapter, written as ``name=path`` or as JSON; without a name it is dropped."""
    name, sign, path = module.partition("=")
    if sign and not re.search(r'[{\[ "]', name):
        return name, path
    try:
        written = orjson.loads(module)
    except orjson.JSONDecodeError:
        return "", ""
    return text(written, "name"), text(written, "path")


def _mode(server: Server) -> str:
    """What a server is for, as its status says it."""
    mode, path = text(server.service, "mode"), text(server.service, "endpoint", "path")
    if mode:
        return mode
    asked = server._replace(service={"extraArgs": server.extra + texts(server.service, "args")})
    if not asked.lacks("--reranking"):
        return "rerank"
    if not (asked.lacks("--embedding") and asked.lacks("--embeddings")):
        return "embedding"
    return "rerank" if "/rerank" in path else "embedding" if "/embeddings" in path else "chat"


def _tgi(server: Server) -> Iterator[str]:
    yield from ("--model-id", server.source)
    yield from server.address("--hostname")
    yield from flags(mapping(server.service, "tgiConfig"), TGI)
    yield from several("--num-shard", server.gpus)
    yield from server.extra * (0 if server.since < 11 else 4 if server.since < 13 else 1)


def _personaplex(server: Server) -> Iterator[str]:
    yield from ("--ssl", "/app/ssl")
    yield from flags(mapping(server.service, "personaPlexConfig"), PERSONAPLEX)


def _generic(server: Server) -> Iterator[str]:
    yield from texts(server.service, "args")


_RUNTIMES: Final[Mapping[str, Callable[[Server], Iterator[str]]]] = {
    "generic": _generic,
    "llamacpp-router": _router,
    "personaplex": _personaplex,
    "sglang": _sglang,
    "tgi": _tgi,
    "vllm": _vllm,
}
