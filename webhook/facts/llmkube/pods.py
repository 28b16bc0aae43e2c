"""What LLMKube puts into the pods of a service by an algorithm: arguments, volumes, and containers that download.

The rest of a pod follows from fields, by ``policies/llmkube/*.children.yaml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.fact import BOOLEAN, OPEN, STRING, STRINGS, TEXTS, Fact, fields, listed
from webhook.facts.llmkube.arguments import Server, arguments, reads_draft
from webhook.facts.llmkube.source import cache_key, staged
from webhook.facts.llmkube.storage import Download, Stage, Storage, Volume, key_of, stage_of, storage_of
from webhook.facts.nodes import items, mapping, namespace_of, text, texts, whole
from webhook.facts.settings import Settings

MODEL: Final = Kind("inference.llmkube.dev", "Model")
_RELEASES: Final = (5, 6, 7, 8, 11, 13, 14, 15, 16)
"""The releases 0.9.x at which what is computed here changes."""
_PORTS: Final = {"vllm": 8000, "sglang": 30000, "tgi": 80, "personaplex": 8998}
_STAGED: Final = frozenset({"llamacpp", "vllm", "sglang"})
"""The runtimes whose pods get the files of a model."""
_OF_OPERATOR: Final = ("model-storage", "model-source", "host-model", "custom-ca-cert")


def _pod(service: dict[str, Any], view: ClusterView, settings: Settings, *, since: int) -> dict[str, Any]:
    """The parts of the pods of a service, by the release 0.9.x whose number ends the name, or by the newest.

    A Model that is not in view counts as one of a single file.
    """
    model, spec = _named(service, view, "modelRef"), mapping(service, "spec")
    storage, wants_cache = Storage(), since < 15 or _wants_cache(spec)
    if (text(spec, "runtime") or "llamacpp") in _STAGED and spec.get("skipModelInit") is not True:
        storage = _storage(service, model, view, since, is_cached=wants_cache and _is_cached(settings))
    return {
        "args": arguments(_server(spec, mapping(model, "spec"), storage.paths, since)),
        "keeps": wants_cache and bool(key_of(model, since)),
        **_shown(storage, model),
    }


def _named(service: dict[str, Any], view: ClusterView, *keys: str) -> dict[str, Any] | None:
    name = text(service, "spec", *keys)
    return view.get(MODEL, namespace_of(service), name) if name else None


def _is_cached(settings: Settings) -> bool:
    """Whether the operator has a cache: it has by default."""
    given = dict(settings.operators)
    return given.get("llmkube.modelCachePath") != "" and given.get("llmkube.modelCache") is not False


def _wants_cache(spec: Mapping[str, Any]) -> bool:
    return text(spec, "modelCache", "persistence") != "Ephemeral"


def _storage(
    service: dict[str, Any], model: dict[str, Any] | None, view: ClusterView, since: int, *, is_cached: bool
) -> Storage:
    namespace, runtime = namespace_of(service), text(service, "spec", "runtime")
    stage = stage_of(model, namespace, since, key_of(model, since) if is_cached else "")
    is_drafted = since >= 16 and reads_draft(text(service, "spec", "speculativeDecoding", "type"))
    draft = _named(service, view, "speculativeDecoding", "draftModelRef") if is_drafted else None
    beside = stage_of(draft, namespace, since, key_of(draft, since) if is_cached else "") if draft else None
    paths = (_served(stage, model, runtime, since), _served(beside, draft, runtime, since) if beside else "")
    storage = storage_of(stage, beside, paths)
    if model is None:  # a mount may be of a volume that another source would bring
        own = {text(volume, "name") for volume in items(service, "spec", "extraVolumes")}
        used = {text(mount, "name") for mount in items(service, "spec", "extraVolumeMounts")} - own
        storage = storage._replace(volumes=(*storage.volumes, *map(Volume, sorted(used & {*_OF_OPERATOR}))))
    return storage


def _served(stage: Stage, model: dict[str, Any] | None, runtime: str, since: int) -> str:
    """The path that a server gets: a folder, where it loads one, from 0.9.8 on."""
    loads_folders = since >= 8 and runtime in {"vllm", "sglang"}
    is_folder = loads_folders and (text(model, "spec", "format") or "gguf") != "gguf"
    return stage.folder if stage.folder and is_folder else stage.path


def _server(spec: dict[str, Any], model: dict[str, Any], paths: tuple[str, str], since: int) -> Server:
    port = whole(spec, "containerPort") or whole(spec, "endpoint", "port") or _PORTS.get(text(spec, "runtime"), 8080)
    gpus = max(whole(model, "hardware", "gpu", "count") or 0, 0) or max(whole(spec, "resources", "gpu") or 0, 0)
    has_gpu = gpus > 0 or bool(items(model, "hardware", "gpu", "resourceClaims"))
    return Server(spec, model, *paths, port, gpus, has_gpu, since)


def _shown(storage: Storage, model: dict[str, Any] | None) -> dict[str, Any]:
    """A storage as a description of children reads it."""
    claims = items(model, "spec", "hardware", "gpu", "resourceClaims")
    return {
        "volumes": [volume._asdict() for volume in storage.volumes],
        "mounts": [_mount(*mount) for mount in storage.mounts],
        "downloads": [_download(download) for download in storage.downloads],
        "prepares": any(volume.name == "model-cache" for volume in storage.volumes) and _is_set_valid(model),
        "claims": [{"name": text(claim, "name")} for claim in claims],
        "resourceClaims": claims,
    }


def _is_set_valid(model: dict[str, Any] | None) -> bool:
    return not staged(texts(model, "spec", "files"), text(model, "spec", "mmproj")).error


def _mount(name: str, path: str) -> dict[str, str]:
    return {"name": name, "mountPath": path}


def _download(download: Download) -> dict[str, Any]:
    return {
        "name": download.name,
        "env": [{"name": name, "value": value} if value else {"name": name} for name, value in download.env],
        "mounts": [_mount(*mount) for mount in download.mounts],
        "secret": download.secret,
    }


def _prefetch(model: dict[str, Any], _: ClusterView, *, since: int) -> dict[str, Any]:
    """The parts of the pod that fills the cache before any service asks for the model; the name is as of ``pod``."""
    stage = stage_of(model, namespace_of(model), since, cache_key(text(model, "spec", "source")))
    return _shown(storage_of(stage, None, (stage.path, "")), model)


def _node_selector(service: dict[str, Any], view: ClusterView, settings: Settings) -> dict[str, str]:
    """The labels of nodes: those of the service over those of the pool of shared GPUs, where it shares one."""
    own = {key: value for key, value in mapping(service, "spec", "nodeSelector").items() if isinstance(value, str)}
    gpu = mapping(_named(service, view, "modelRef"), "spec", "hardware", "gpu")
    if text(service, "spec", "resources", "gpuSharing", "mode") != "shared" or text(gpu, "vendor") == "amd":
        return own
    pool = dict(settings.operators).get("llmkube.sharedPool", ())
    labels = pool.split(",") if isinstance(pool, str) else pool if isinstance(pool, tuple) else ()
    pairs = (label.partition("=") for label in labels if isinstance(label, str))
    return {**{key: value for key, sign, value in pairs if sign}, **own}


_MOUNTS: Final = listed(fields(name=STRING, mountPath=STRING))
_PARTS: Final = {
    "volumes": listed(fields(name=STRING, claim=STRING, path=STRING)),
    "mounts": _MOUNTS,
    "downloads": listed(
        fields(name=STRING, env=listed(fields(name=STRING, value=STRING)), mounts=_MOUNTS, secret=STRING)
    ),
    "prepares": BOOLEAN,
    "claims": listed(fields(name=STRING)),
    "resourceClaims": listed(OPEN),
}


def _by_release(name: str, compute: Any, schema: Mapping[str, Any], *, configurable: bool = False) -> dict[str, Fact]:
    """A fact for each release at which it changes, such as ``pod11``; that of the newest has the plain name."""
    names = {since: f"{name}{since}" for since in _RELEASES} | {_RELEASES[-1]: name}
    return {
        called: Fact(partial(compute, since=since), schema, configurable, sparse=True)
        for since, called in names.items()
    }


POD_FACTS: Final = {
    **_by_release("pod", _pod, fields(args=STRINGS, keeps=BOOLEAN, **_PARTS), configurable=True),
    "nodeSelector": Fact(_node_selector, TEXTS, configurable=True),
}
PREFETCH_FACTS: Final = _by_release("prefetch", _prefetch, fields(**_PARTS))
