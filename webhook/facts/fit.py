"""What is asked of nodes, GPUs and storage for one object: its pods, what they load, and what is wrong by itself.

Each API says it in a function of the object and the view (:attr:`webhook.facts.fact.Knowledge.fits`). The engine holds
it against nodes, quotas and classes. A part that is not known is left out; then nothing is said of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.memory import Bound
from webhook.facts.settings import Settings

FIT_WATCHED: Final = frozenset([Kind("", "Node")])
"""All objects of this kind are kept in memory where nodes are judged, as shapes."""

FIT_FETCHED: Final = frozenset(
    [
        Kind("", "ConfigMap"),
        Kind("", "LimitRange"),
        Kind("", "PersistentVolumeClaim"),
        Kind("", "ResourceQuota"),
        Kind("apiextensions.k8s.io", "CustomResourceDefinition"),
        Kind("node.k8s.io", "RuntimeClass"),
        Kind("resource.k8s.io", "DeviceClass"),
        Kind("scheduling.k8s.io", "PriorityClass"),
        Kind("storage.k8s.io", "StorageClass"),
    ]
)
"""Of these kinds some objects are read on demand. Each is optional: without the right its rules are silent."""


class ServedPod(NamedTuple):
    """A pod that the operator makes. ``origin`` is the field of the object for a path in the PodSpec.

    ``unseen`` says what of the pod is not known, so that nodes are not judged by it. ``labels`` are those of the pod.
    ``is_part``: the pod may also ask for what is not in the ``spec``.
    """

    spec: dict[str, Any]
    origin: Callable[[str], str]
    unseen: str = ""
    labels: Mapping[str, Any] = {}
    is_part: bool = False


class GpuLoad(NamedTuple):
    """What a pod loads into its GPUs.

    ``field`` is what a finding is about. So many ``gpus`` of the ``resource`` are asked for. The engine uses the share
    ``usable`` of their memory. ``device`` is the memory of one, where the object itself tells. ``cache`` has the bytes
    of one sequence of ``tokens``, whose length ``length`` names; with ``quantizes``, its elements may be smaller.
    ``silent`` says why nothing is said.
    """

    field: str
    pod: int
    gpus: int
    resource: str
    weights: Bound | None
    cache: int = 0
    tokens: int = 0
    length: str = ""
    quantizes: bool = False
    usable: float = 1.0
    device: Bound | None = None
    silent: str = ""


class Ranks(NamedTuple):
    """Attention heads that an engine divides by its ranks."""

    field: str
    heads: int
    ranks: int
    model: str


class FitTerm(NamedTuple):
    """A row of the table *fit*: what is needed or there, its bound, and where that comes from."""

    name: str
    bound: str
    source: str


class Claim(NamedTuple):
    """A finding that needs no node: its ``code``, and whether it is certain, and true of the object ``alone``."""

    code: str
    field: str
    text: str
    certain: bool = True
    alone: bool = True


class Workload(NamedTuple):
    """``is_choice``: one of the pods is enough. ``accelerator``: the field and the name of the GPU that nodes must have
    by the operator's own names, which are not labels.
    """

    pods: Sequence[ServedPod] = ()
    loads: Sequence[GpuLoad] = ()
    ranks: Ranks | None = None
    claims: Sequence[Claim] = ()
    terms: Sequence[FitTerm] = ()
    is_choice: bool = False
    accelerator: tuple[str, str] = ("", "")
    on_nodes: frozenset[str] | None = None


FitOf = Callable[[dict[str, Any], ClusterView, Settings, Sequence[str]], Workload | None]
"""Of an object, a view, the settings, and the releases of the operator that may run; None if nothing is made of it."""

_NUMBERS: Final = re.compile(r"[0-9]+")


def since(releases: Sequence[str], first: str) -> bool | None:
    """Whether the operator has what a release brought; None if it is not known."""
    wanted = _numbers(first)
    answers = {release.startswith("head") or _numbers(release) >= wanted for release in releases}
    return answers.pop() if len(answers) == 1 else None


def _numbers(release: str) -> list[int]:
    return [int(number) for number in _NUMBERS.findall(release.partition("-")[0])[:4] if len(number) < 10]


def flag(args: Sequence[str], *names: str) -> str | None:
    """The value of a flag, as ``--name value`` or ``--name=value``; "" for a flag without one, None if it is absent."""
    for place, arg in enumerate(args):
        _, equals, value = arg.partition("=")
        if _name(arg) in names:
            after = args[place + 1] if place + 1 < len(args) else ""
            return value if equals else "" if after.startswith("--") else after
    return None


def _name(arg: str) -> str:
    """The name of a flag: llama.cpp and vLLM read ``_`` in a long one as ``-``."""
    name = arg.partition("=")[0]
    return name.replace("_", "-") if name.startswith("--") else name


_OUTSIDE: Final = frozenset(
    [
        *("-ngl", "--n-gpu-layers", "--gpu-layers", "-ot", "--override-tensor", "--cpu-moe", "-cmoe", "--n-cpu-moe"),
        *("-ncmoe", "--fit", "-fit", "-dev", "--device", "--rpc", "--kv-offloading-size", "--hf-overrides", "--config"),
        *("-hf", "-hfr", "-hff", "--hf-repo", "--hf-file", "-mu", "--model-url", "-dr", "--docker-repo"),
        *("--json-model-override-args", "--model-loader-extra-config", "--enable-weights-cpu-backup"),
    ]
)
"""Flags with which a part of a model is outside of the GPUs, or another model is loaded."""
_OUTSIDE_BEGIN: Final = ("--cpu-offload", "--offload-", "--kt-")
_ELSEWHERE: Final = (
    *("--nnodes", "--node-rank", "--dist-init-addr", "--master-addr", "--headless", "--data-parallel-address", "-dpa"),
    *("--pipeline-parallel-size", "-pp", "--pp-size", "--data-parallel-rank", "--data-parallel-size-local", "-dpl"),
)
"""Flags of one of several pods that share the weights."""
_VARIABLES: Final = frozenset(["GGML_CUDA_ENABLE_UNIFIED_MEMORY", "GGML_VK_ALLOW_SYSMEM_FALLBACK"])
_OF_FLAG: Final = "LLAMA_ARG_"
"""llama.cpp reads a flag from a variable, too: ``LLAMA_ARG_CPU_MOE``."""
_WHOLE: Final = frozenset(["", "auto", "hf", "safetensors", "fastsafetensors", "pt", "mistral", "runai_streamer"])
"""The values of ``--load-format`` that load all weights in the precision of the repository."""


def keeps_outside(args: Sequence[str], variables: Collection[str]) -> bool:
    """Whether arguments or the names of variables keep a part of the model outside of the GPUs, or load another one."""
    of_variables = (f"--{name[len(_OF_FLAG) :].lower()}" for name in variables if name.startswith(_OF_FLAG))
    names = [*map(_name, args), *map(_name, of_variables)]
    if any(name in _OUTSIDE or name.startswith(_OUTSIDE_BEGIN) for name in names) or _VARIABLES & {*variables}:
        return True
    return (flag(args, "--load-format") or "") not in _WHOLE


def loads_elsewhere(args: Sequence[str]) -> bool:
    """Whether the engine is one of several that share the weights."""
    by_ray = flag(args, "--distributed-executor-backend") not in {None, "mp", "uni"}
    return by_ray or flag(args, *_ELSEWHERE) not in {None, "1"}


def wants_number(text: str | None) -> int | None:
    """The number of a flag; None if it is absent or not one."""
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) < 10 else None
