"""Storage URIs of models and results (pkg/utils/storage)."""

from __future__ import annotations

import re
from typing import Final

_EXAMPLES: Final = {
    "oci": "oci://n/namespace/b/bucket/o/path",
    "pvc": "pvc://claim/path",
    "vendor": "vendor://name/type/path",
    "hf": "hf://organisation/model",
    "s3": "s3://bucket/path",
    "az": "az://account/container/path",
    "gs": "gs://bucket/path",
    "github": "github://owner/repository",
    "local": "local:///path",
}
SCHEMES: Final = tuple(_EXAMPLES)
_NAMESPACE: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?\Z")
_CLAIM: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*\Z")
_OCI: Final = "invalid OCI storage URI format. Expected: oci://n/{namespace}/b/{bucket}/o/{object_path}"
_PVC: Final = "invalid PVC storage URI format: "


def storage_scheme(uri: str) -> str:
    """The scheme of a URI, "" if OME does not support it."""
    return next((scheme for scheme in SCHEMES if uri.startswith(f"{scheme}://")), "")


def storage_example(scheme: str) -> str:
    """What a URI of a scheme looks like; of no scheme, the schemes."""
    return _EXAMPLES.get(scheme) or f"one of {', '.join(f'{each}://' for each in SCHEMES)}"


def storage_error(uri: str, *, empty_parts: bool = False) -> str:
    """The error in a URI, in upstream's words; "" if the URI is valid.

    ``empty_parts``: whether namespace, bucket and path of an oci:// URI may be empty, and a claim may have a name that
    no claim can have, as upstream accepts.
    """
    scheme = storage_scheme(uri)
    rest = uri.removeprefix(f"{scheme}://")
    match scheme:
        case "oci":
            parts = rest.split("/", 5)
            named = len(parts) == 6 and parts[0::2] == ["n", "b", "o"]
            return "" if named and (empty_parts or all(parts)) else _OCI
        case "pvc":
            error = _pvc_error(rest) or ("" if empty_parts else _claim_error(rest))
            return f"{_PVC}{error}" if error else ""
        case "":
            return f"unknown storage type for URI: {uri}"
    error = _PARSERS[scheme](rest)
    return f"invalid {_NAMES[scheme]} storage URI format{error}" if error else ""


def _pvc_error(rest: str) -> str:
    if not rest:
        return "missing content after prefix"
    claim, _, path = rest.partition("/")
    if not path:
        return "missing subpath"
    if not claim:
        return "missing PVC name"
    namespace, colon, name = claim.partition(":")
    if not colon:
        return ""
    if ":" in name:
        return "multiple colons not allowed in namespace:pvc-name"
    if not namespace:
        return "empty namespace before colon"
    if not name:
        return "empty PVC name after colon"
    if len(namespace) > 63 or not _NAMESPACE.match(namespace):
        return f'invalid namespace "{namespace}" (must be lowercase alphanumeric with hyphens, max 63 chars)'
    return ""


def _claim_error(rest: str) -> str:
    claim = rest.partition("/")[0].rpartition(":")[2]
    wrong = len(claim) > 253 or not _CLAIM.match(claim)
    return f'invalid PVC name "{claim}" (lowercase letters, digits, - and .)' if wrong else ""


def _vendor(rest: str) -> str:
    parts = rest.split("/", 2)
    whole = len(parts) == 3 and all(parts)
    return "" if whole else ". Expected: vendor://{vendor-name}/{resource-type}/{resource-path}"


def _hugging_face(rest: str) -> str:
    if not rest:
        return ": missing model ID"
    return "" if rest.partition("@")[0] else ": model ID cannot be empty"


def _bucket(rest: str) -> str:
    if not rest:
        return ": missing bucket name"
    return "" if rest.partition("/")[0].partition("@")[0] else ": bucket name cannot be empty"


def _azure(rest: str) -> str:
    if not rest:
        return ": missing account name"
    account, slash, path = rest.partition("/")
    if not slash:
        return ": missing container name"
    return "" if account and path.partition("/")[0] else ": account name and container name are required"


def _github(rest: str) -> str:
    if not rest:
        return ": missing owner/repository"
    owner, slash, repository = rest.partition("/")
    if not slash:
        return ": expected owner/repository"
    return "" if owner and repository.partition("@")[0] else ": owner and repository are required"


def _local(rest: str) -> str:
    return "" if rest else ": missing path"


_NAMES: Final = {
    "vendor": "vendor",
    "hf": "Hugging Face",
    "s3": "S3",
    "az": "Azure",
    "gs": "GCS",
    "github": "GitHub",
    "local": "local",
}
_PARSERS: Final = {
    "vendor": _vendor,
    "hf": _hugging_face,
    "s3": _bucket,
    "az": _azure,
    "gs": _bucket,
    "github": _github,
    "local": _local,
}
