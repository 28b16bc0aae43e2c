"""Flags that LLMKube writes from fields of a service, in its order: by runtime a table of flag, field and form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from webhook.facts.nodes import texts, whole
from webhook.golang.strconv import plain

Form = Callable[[str, Any], Sequence[str]]
"""What a flag and the value of its field become; nothing for a value that gives no flag."""
Row = tuple[str, str, Form]


def number(flag: str, value: Any) -> Sequence[str]:
    count = whole(value)
    return () if count is None else (flag, str(count))


def positive(flag: str, value: Any) -> Sequence[str]:
    return number(flag, value) if (whole(value) or 0) > 0 else ()


def several(flag: str, value: Any) -> Sequence[str]:
    return number(flag, value) if (whole(value) or 0) > 1 else ()


def fraction(flag: str, value: Any) -> Sequence[str]:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return (flag, plain(float(value))) if is_number and abs(value) < _LARGE else ()


def word(flag: str, value: Any) -> Sequence[str]:
    return (flag, value) if value and isinstance(value, str) else ()


def switch(flag: str, value: Any) -> Sequence[str]:
    return (flag,) if value is True else ()


def repeated(flag: str, value: Any) -> Sequence[str]:
    return [part for one in texts(value) for part in (flag, one)]


def listed(flag: str, value: Any) -> Sequence[str]:
    return (flag, *texts(value)) if texts(value) else ()


_LARGE: Final = 1e18
"""Numbers that no field of these runtimes can mean; their decimals would be hundreds of digits."""


def flags(node: Any, rows: Sequence[Row]) -> Iterator[str]:
    """Flags from fields of a node; of several names the first whose field gives a flag counts."""
    if not isinstance(node, dict):
        return
    for flag, names, form in rows:
        for name in names.split("|") if "|" in names else (names,):
            value = node.get(name)
            if value is not None and (written := form(flag, value)):
                yield from written
                break


CONTEXT: Final[Sequence[Row]] = (("--ctx-size", "contextSize", positive),)
LLAMACPP: Final[Sequence[Row]] = (
    ("--jinja", "jinja", switch),
    ("--cache-type-k", "cacheTypeCustomK|cacheTypeK", word),
    ("--cache-type-v", "cacheTypeCustomV|cacheTypeV", word),
    ("--cpu-moe", "moeCPUOffload", switch),
    ("--n-cpu-moe", "moeCPULayers", positive),
    ("--no-kv-offload", "noKvOffload", switch),
    ("--override-tensor", "tensorOverrides", repeated),
    ("--batch-size", "batchSize", positive),
    ("--ubatch-size", "uBatchSize", positive),
    ("--no-warmup", "noWarmup", switch),
)
ROPE: Final[Sequence[Row]] = (
    ("--rope-scaling", "type", word),
    ("--rope-scale", "factor", word),
    ("--yarn-orig-ctx", "originalContext", positive),
)
VLLM: Final[Sequence[Row]] = (
    ("--tensor-parallel-size", "tensorParallelSize", several),
    ("--max-model-len", "maxModelLen", number),
    ("--quantization", "quantization", word),
    ("--dtype", "dtype", word),
    ("--kv-cache-dtype", "kvCacheCustomDtype|kvCacheDtype", word),
    ("--enable-prefix-caching", "enablePrefixCaching", switch),
    ("--enable-chunked-prefill", "enableChunkedPrefill", switch),
    ("--max-num-batched-tokens", "maxNumBatchedTokens", number),
    ("--attention-backend", "attentionBackend", word),
)
VLLM_SPECULATIVE: Final[Sequence[Row]] = (
    ("--speculative-model", "model", word),
    ("--num-speculative-tokens", "numSpeculativeTokens", number),
)
VLLM_GPU: Final[Sequence[Row]] = (
    ("--cpu-offload-gb", "cpuOffloadGB", number),
    ("--gpu-memory-utilization", "gpuMemoryUtilization", fraction),
)
SGLANG: Final[Sequence[Row]] = (
    ("--tp", "tensorParallelSize", positive),
    ("--ep", "expertParallelSize", positive),
    ("--dp", "dataParallelSize", positive),
    ("--context-length", "contextLength", number),
)
SGLANG_GPU: Final[Sequence[Row]] = (("--mem-fraction-static", "memFractionStatic", fraction),)
SGLANG_CACHE: Final[Sequence[Row]] = (
    ("--chunked-prefill-size", "chunkedPrefillSize", number),
    ("--max-running-requests", "maxRunningRequests", number),
    ("--quantization", "quantization", word),
    ("--kv-cache-dtype", "kvCacheCustomDtype|kvCacheDtype", word),
    ("--attention-backend", "attentionBackend", word),
    ("--enable-prefix-caching", "enablePrefixCaching", switch),
    ("--tool-call-parser", "toolCallParser", word),
    ("--reasoning-parser", "reasoningParser", word),
    ("--chat-template", "chatTemplate", word),
)
SGLANG_SPECULATIVE: Final[Sequence[Row]] = (
    ("--speculative-algorithm", "algorithm", word),
    ("--speculative-draft-model-path", "draftModelPath", word),
    ("--speculative-num-steps", "numSteps", number),
    ("--speculative-eagle-topk", "eagleTopK", number),
    ("--speculative-num-draft-tokens", "numDraftTokens", number),
    ("--speculative-accept-threshold-single", "acceptThresholdSingle", fraction),
    ("--speculative-accept-threshold-acc", "acceptThresholdAcc", fraction),
)
SGLANG_LORA: Final[Sequence[Row]] = (
    ("--max-lora-rank", "maxLoraRank", number),
    ("--lora-target-modules", "loraTargetModules", listed),
    ("--log-level", "logLevel", word),
    ("--trust-remote-code", "trustRemoteCode", switch),
    ("--skip-tokenizer-init", "skipTokenizerInit", switch),
)
TGI: Final[Sequence[Row]] = (
    ("--quantize", "quantize", word),
    ("--max-input-length", "maxInputLength", number),
    ("--max-total-tokens", "maxTotalTokens", number),
    ("--dtype", "dtype", word),
)
PERSONAPLEX: Final[Sequence[Row]] = (
    ("--quantize-4bit", "quantize4Bit", switch),
    ("--cpu-offload", "cpuOffload", switch),
)
