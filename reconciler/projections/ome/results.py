"""Where a benchmark writes its results: the flags of genai-bench, and the volume of a pvc:// URI."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from webhook.facts.ome import storage_error, storage_scheme

UNSUPPORTED: Final = {"hf": "HUGGINGFACE", "vendor": "VENDOR", "local": "LOCAL"}

_PARAMETERS: Final = {
    "oci": ("auth", "config_file", "profile", "security_token", "region"),
    "s3": ("aws_access_key_id", "aws_secret_access_key", "aws_profile"),
    "az": ("azure_account_key", "azure_connection_string", "azure_sas_token"),
    "gs": ("gcp_project_id", "gcp_credentials_path"),
    "github": ("github_token",),
}
"""The parameters of a storage that become flags."""


class Unsupported(Exception):
    """A storage that cannot hold results."""


@dataclass(frozen=True, slots=True)
class Results:
    flags: tuple[str, ...]
    mounts: list[dict[str, Any]] = field(default_factory=list)
    volumes: list[dict[str, Any]] = field(default_factory=list)


def storage_flags(storage: dict[str, Any], namespace: str) -> Results:
    """The flags for a storage.

    Raises:
        Unsupported: with the reason.
    """
    uri = storage["storageUri"]
    scheme = storage_scheme(uri)
    if error := storage_error(uri):
        raise Unsupported(error)
    if scheme in UNSUPPORTED:
        raise Unsupported(f"unsupported storage type: {UNSUPPORTED[scheme]}")
    rest = uri.removeprefix(f"{scheme}://")
    if scheme == "pvc":
        return _on_claim(rest, namespace)
    given = storage.get("parameters") or {}
    more = [part for key in _PARAMETERS[scheme] if given.get(key) for part in (_flag(scheme, key), given[key])]
    region = [part for part in _region(scheme, rest) if part]
    return Results(("--upload-results", *_location(scheme, rest), *more, *region))


def _on_claim(rest: str, namespace: str) -> Results:
    """A folder of a volume claim; a pod mounts only claims of its own namespace."""
    claim, _, path = rest.partition("/")
    owner, colon, name = claim.partition(":")
    if colon and owner != namespace:
        raise Unsupported(f'the volume claim is in namespace "{owner}", but the job runs in "{namespace}"')
    folder = f"/{path.strip('/')}"
    mount = {"name": "results", "mountPath": folder, "subPath": path.strip("/")}
    volume = {"name": "results", "persistentVolumeClaim": {"claimName": name if colon else claim}}
    return Results(("--experiment-base-dir", folder), [mount], [volume])


def _location(scheme: str, rest: str) -> tuple[str, ...]:
    match scheme:
        case "oci":
            _, space, _, bucket, _, prefix = rest.split("/", 5)
            return "--namespace", space, "--storage-bucket", bucket, "--storage-prefix", prefix
        case "github":
            owner, _, repository = rest.partition("/")
            name, _, tag = repository.partition("@")
            where = ("--storage-provider", "github", "--github-owner", owner, "--github-repo", name)
            return (*where, "--github-tag", tag) if tag else where
        case "az":
            account, _, path = rest.partition("/")
            container, _, prefix = path.partition("/")
            name = account.removesuffix(".blob.core.windows.net")
            return (*_bucket("azure", container, prefix), "--storage-azure-account-name", name)
    bucket, _, prefix = rest.partition("/")
    return _bucket({"s3": "aws", "gs": "gcp"}[scheme], bucket.partition("@")[0], prefix)


def _bucket(provider: str, bucket: str, prefix: str) -> tuple[str, ...]:
    where = ("--storage-provider", provider, "--storage-bucket", bucket)
    return (*where, "--storage-prefix", prefix) if prefix else where


def _region(scheme: str, rest: str) -> tuple[str, ...]:
    region = rest.partition("/")[0].partition("@")[2] if scheme == "s3" else ""
    return ("--storage-aws-region", region) if region else ()


def _flag(scheme: str, key: str) -> str:
    plain = key.replace("_", "-")
    return f"--{plain}" if scheme in {"oci", "github"} else f"--storage-{plain}"
