"""A webhook for Models by hand: ASGI, orjson and nothing else. The rules and defaults are those of the Go peer.

python -m tests.bench.e2e.peers.bare PORT TLS_DIR
"""

from __future__ import annotations

import re
import sys
from base64 import b64encode
from typing import Any

import orjson
import uvicorn

RESOURCES = {"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu", "intel": "gpu.intel.com/i915"}
SOURCE = re.compile(r"(https?|file|pvc)://.+|/.+|[\w.-]+/[\w.-]+")
ANNOTATION = "example.com~1defaulted"

Json = dict[str, Any]


def patch(obj: Json) -> list[Json]:
    """The defaults of a GPU, and a note."""
    place = "/metadata/annotations"
    found: list[Json] = []
    if not obj["metadata"].get("annotations"):
        found.append({"op": "add", "path": place, "value": {}})
    found.append({"op": "add", "path": f"{place}/{ANNOTATION}", "value": "true"})
    gpu = (obj["spec"].get("hardware") or {}).get("gpu")
    if gpu and not gpu.get("resourceClaims"):
        name = gpu.get("resourceName") or RESOURCES.get(gpu.get("vendor"))
        keys = [key for key in ("resourceName", "tolerationKey") if name and not gpu.get(key)]
        found += [{"op": "add", "path": f"/spec/hardware/gpu/{key}", "value": name} for key in keys]
    return found


def refusal(obj: Json) -> str:
    """Why a Model is refused; empty if it is not."""
    hardware = obj["spec"].get("hardware") or {}
    gpu = hardware.get("gpu") or {}
    claims = gpu.get("resourceClaims") or []
    fraction = hardware.get("memoryFraction")
    if not SOURCE.fullmatch(obj["spec"]["source"]):
        return "spec.source: not a source of a model"
    if fraction is not None and not 0 < fraction <= 1:
        return "spec.hardware.memoryFraction: must be greater than 0 and at most 1"
    if gpu.get("resourceName") and claims:
        return "spec.hardware.gpu: resourceClaims and resourceName are mutually exclusive"
    if any(("resourceClaimName" in each) == ("resourceClaimTemplateName" in each) for each in claims):
        return "spec.hardware.gpu.resourceClaims: each needs exactly one reference"
    return ""


def answer(path: str, body: bytes) -> bytes:
    review = orjson.loads(body)
    request = review["request"]
    response: Json = {"uid": request["uid"], "allowed": True}
    if path == "/mutate":
        changes = b64encode(orjson.dumps(patch(request["object"]))).decode()
        response |= {"patchType": "JSONPatch", "patch": changes}
    elif why := refusal(request["object"]):
        response |= {"allowed": False, "status": {"code": 403, "message": why}}
    return orjson.dumps({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response})


async def app(scope: Any, receive: Any, send: Any) -> None:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    reply = answer(scope["path"], body)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(reply)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": reply})


def main(port: str, folder: str) -> None:
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=int(port),
        lifespan="off",
        access_log=False,
        log_level="warning",
        ssl_certfile=f"{folder}/tls.crt",
        ssl_keyfile=f"{folder}/tls.key",
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
