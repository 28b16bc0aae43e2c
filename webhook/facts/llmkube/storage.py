"""How the weights of a model reach the pods of a service (LLMKube's model_storage.go): volumes, mounts, downloads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from webhook.facts.llmkube.source import (
    SourceKind,
    bucket_and_key,
    cache_key,
    classify_page,
    fetched_from,
    parse_source,
    staged,
)
from webhook.facts.nodes import name_of, text, texts

_CACHE: Final = "model-cache"
_ON_NODE: Final = "model-storage"
_CLAIMED: Final = "model-source"
_HOST: Final = "host-model"
_MODELS: Final = "/models"
_HOST_FILE: Final = "/host-model/model.gguf"
_INVALID: Final = "model.gguf"
_UNSEEN: Final = "/models/…/model.gguf"


class Volume(NamedTuple):
    """A volume of a pod. ``claim`` is that of a source, ``path`` a file of the node; without both it is named by its
    ``name``: the claim of the cache, or an empty directory.
    """

    name: str
    claim: str = ""
    path: str = ""


class Download(NamedTuple):
    """A container that fetches a model; ``secret`` names the Secret with its credentials, ``volumes`` are mounted."""

    name: str
    env: tuple[tuple[str, str], ...]
    mounts: tuple[tuple[str, str], ...]
    secret: str = ""


class Stage(NamedTuple):
    """The weights of one model: the file that the server loads, the folder of several files, "" without; where the
    first of the volumes is mounted.
    """

    path: str
    folder: str
    volumes: tuple[Volume, ...]
    mount: str
    download: Download | None = None


class Storage(NamedTuple):
    """The weights of a service. ``paths`` are those of its model and of its draft."""

    volumes: tuple[Volume, ...] = ()
    mounts: tuple[tuple[str, str], ...] = ()
    downloads: tuple[Download, ...] = ()
    paths: tuple[str, str] = "", ""


def key_of(model: dict[str, Any] | None, since: int) -> str:
    """The folder of a model in the cache; "" for a repository as a whole, which is not cached.

    A model that is not in view counts as one of a single file, as most are. ``since`` is the release, 13 for 0.9.13.
    """
    source = text(model, "spec", "source")
    is_set = bool(texts(model, "spec", "files")) or bool(text(model, "spec", "mmproj"))
    is_whole = parse_source(source).kind is SourceKind.HF_REPO or (
        since >= 13 and classify_page(source) == "repository"
    )
    return cache_key(source) if is_set or not is_whole else ""


def stage_of(model: dict[str, Any] | None, namespace: str, since: int, key: str) -> Stage:
    """How one model is staged: in a folder of the cache, ``key``, or without one in an empty directory. Of a model that
    is not in view the path is not known.
    """
    source = parse_source(text(model, "spec", "source"))
    if source.kind is SourceKind.PVC:
        return Stage(f"/model-source/{source.path}", "", (Volume(_CLAIMED, claim=source.claim),), "/model-source")
    files = staged(texts(model, "spec", "files"), text(model, "spec", "mmproj"))
    volume = Volume(_CACHE if key else _ON_NODE)
    own = f"{_MODELS}/{namespace}-{name_of(model)}"
    folder = f"{_MODELS}/{key}" if key else own
    mounts: tuple[tuple[str, str], ...] = ((volume.name, _MODELS),)
    if model is None:
        return Stage(_UNSEEN, "", (volume,), _MODELS, Download("model-downloader", (), mounts))
    if files.error:
        return Stage(f"{folder}/{_INVALID}", "", (volume,), _MODELS, Download("model-downloader", (), ()))
    if files.staged:
        env = _env(model, since, CACHE_DIR=folder, MODEL_FILES="\n".join(files.staged))
        stage = Stage(f"{folder}/{files.staged[0]}", folder, (volume,), _MODELS)
        return _fetched(model if since >= 16 else None, stage, env, mounts)
    path = f"{folder}/{_file_name(model)}" if key else f"{own}.gguf"
    stage = Stage(path, "", (volume,), _MODELS)
    if source.kind is SourceKind.LOCAL and key:
        stage = stage._replace(volumes=(volume, Volume(_HOST, path=source.path)))
        mounts = (*mounts, (_HOST, _HOST_FILE))
    return _fetched(model, stage, _env(model, since, CACHE_DIR=folder if key else "", MODEL_PATH=path), mounts)


def _fetched(
    model: dict[str, Any] | None,
    stage: Stage,
    env: tuple[tuple[str, str], ...],
    mounts: tuple[tuple[str, str], ...],
) -> Stage:
    secret = text(model, "spec", "sourceSecretRef", "name")
    return stage._replace(download=Download("model-downloader", env, mounts, secret))


def _env(model: dict[str, Any] | None, since: int, **paths: str) -> tuple[tuple[str, str], ...]:
    """What the downloader reads: the address of several files is made from the source, that of one is the source."""
    source = text(model, "spec", "source")
    address = fetched_from(source, since) if "MODEL_FILES" in paths else source
    bucket, key = bucket_and_key(source)
    of_bucket = (("S3_BUCKET", bucket), ("S3_PREFIX" if "MODEL_FILES" in paths else "S3_KEY", key)) if bucket else ()
    return (("MODEL_SOURCE", address), *paths.items(), *of_bucket)


_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")


def _file_name(model: dict[str, Any] | None) -> str:
    """The name of the one file: where it is, if the operator has it, else after the name in its header, which the
    operator reads from the source if it can, else after the Model.
    """
    there = text(model, "status", "path").rpartition("/")[2]
    names = (text(model, "status", "gguf", "modelName"), name_of(model), "model")
    safe = (re.sub("-{2,}", "-", _UNSAFE.sub("-", name).strip("-._")) for name in names)
    return there or f"{next(filter(None, safe))}.gguf"


def storage_of(stage: Stage, draft: Stage | None, served: tuple[str, str]) -> Storage:
    """The storage of a service: that of its model, and beside it that of its draft, under other names where they meet.

    ``served`` are the paths that its server is given, of the model and of the draft.
    """
    downloads = [stage.download] if stage.download else []
    alone = Storage(stage.volumes, ((stage.volumes[0].name, stage.mount),), tuple(downloads), served)
    if draft is None:
        return alone
    taken = {volume.name for volume in stage.volumes}
    names = {volume.name: f"draft-{volume.name}" for volume in draft.volumes if volume.name in taken}
    names = {name: new for name, new in names.items() if not _is_shared(name, stage.volumes, draft.volumes)}
    volumes = [volume._replace(name=names.get(volume.name, volume.name)) for volume in draft.volumes]
    mounted = draft.volumes[0].name
    is_shared = (names.get(mounted, mounted), draft.mount) in alone.mounts
    moved = "" if is_shared or draft.mount != stage.mount else "/draft"
    mounts = () if is_shared else ((names.get(mounted, mounted), moved + draft.mount),)
    return Storage(
        (*stage.volumes, *(volume for volume in volumes if volume not in stage.volumes)),
        (*alone.mounts, *mounts),
        (*downloads, *_beside(draft.download, stage.download, names)),
        (served[0], moved + served[1]),
    )


def _is_shared(name: str, volumes: Sequence[Volume], others: Sequence[Volume]) -> bool:
    return any(volume.name == name and volume in others for volume in volumes)


def _beside(draft: Download | None, download: Download | None, names: dict[str, str]) -> tuple[Download, ...]:
    """The container of the draft, unless it fetches what the other one fetches."""
    if draft is None:
        return ()
    moved = draft._replace(mounts=tuple((names.get(name, name), path) for name, path in draft.mounts))
    return () if moved == download else (moved._replace(name=f"draft-{draft.name}" if download else draft.name),)
