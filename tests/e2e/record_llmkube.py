"""What LLMKube of a release does with Models and InferenceServices, recorded on a real API server.

``python -m tests.e2e.record_llmkube CLONE v0.8.18 OBJECTS.json RECORDED.json.gz`` builds the operator of a tag of a
clone, starts it beside a control plane with the definitions of the tag, and sends the objects of a file of
``corpora-upstream/llmkube``, each with its Model before it and fieldValidation=Strict. Nothing of the clone is kept.
Needs root, Go and the modules that the operator names.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import yaml

from tests.conformance.tables import write
from tests.e2e.assets import assets
from tests.e2e.client import Client, Reply, connected
from tests.e2e.plane import Plane
from tests.e2e.processes import free_port

Case = dict[str, Any]

API = "/apis/inference.llmkube.dev/v1alpha1/namespaces/t"
SETTLED = 20
"""Seconds without a change, after which the operator has done what it does: it retries from a second on."""
LONGEST = 300
HOSTS = "127.0.0.1 localhost models.example.com huggingface.co\n"
"""Without them the operator waits for a name server: what fetches metadata of a model fails at once."""
UNSHARED = ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"')


def main(clone: Path, tag: str, objects: Path, out: Path) -> int:
    given = json.loads(objects.read_text())
    cases = [case for case in (given if isinstance(given, list) else given["cases"]) if not _is_of_cluster(case)]
    with tempfile.TemporaryDirectory(prefix="llmkube-") as folder, Plane(assets("plane")) as plane:
        tree = _tree(clone, tag, Path(folder))
        definitions = _definitions(tree)
        manager = _built(tree)
        plane.kubectl.send_all("create", definitions)
        names = [definition["metadata"]["name"] for definition in definitions]
        plane.kubectl("wait", "--for=condition=Established", "--timeout=60s", *[f"crd/{name}" for name in names])
        plane.kubectl("create", "namespace", "t")
        hosts = Path(folder) / "hosts"
        hosts.write_text(HOSTS)
        with connected(plane.kubeconfig) as client:
            port = free_port()
            plane.processes.start(
                "operator",
                *(*UNSHARED, str(hosts), str(manager), f"--kubeconfig={plane.kubeconfig}"),
                f"--health-probe-bind-address=127.0.0.1:{port}",
            )
            plane.processes.wait_until(lambda: _is_ready(port), "the operator to be ready")
            recorded = [_sent(client, case) for case in cases]
            _wait(client)
            _observe(client, recorded)
    write(out, {"release": tag, "cases": recorded})
    print(f"{len(recorded)} objects under {tag}: {sum(case['verdict']['allowed'] for case in recorded)} admitted")
    return 0


def _is_ready(port: int) -> bool:
    """Whether the operator runs. It is to see each object as it is made: what it lists at its start waits for what it
    tries again and again.
    """
    with contextlib.suppress(OSError), urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as reply:
        return bool(reply.status == HTTPStatus.OK)
    return False


def _is_of_cluster(case: Case) -> bool:
    """Whether objects beside the Model decide, such as a quota."""
    return bool(case.get("quotas") or case.get("existing") or case.get("namespaceLabels"))


def _tree(clone: Path, tag: str, folder: Path) -> Path:
    archive = subprocess.run(["git", "-C", str(clone), "archive", tag], check=True, capture_output=True).stdout
    tree = folder / "tree"
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(tree, filter="data")
    return tree


def _definitions(tree: Path) -> list[Case]:
    files = sorted((tree / "config" / "crd" / "bases").glob("inference.llmkube.dev_*.yaml"))
    return [yaml.safe_load(file.read_text()) for file in files]


def _built(tree: Path) -> Path:
    manager = tree / "manager"
    subprocess.run(
        ["go", "build", "-o", str(manager), "./cmd"], cwd=tree, check=True, env={**os.environ, "GOFLAGS": "-mod=mod"}
    )
    return manager


def _sent(client: Client, case: Case) -> Case:
    """A case after its Model and itself were sent, with what the API server said and stored."""
    sent: Case = {"id": case["id"], "kind": case["kind"]}
    if model := case.get("model"):
        metadata = {**(model.get("metadata") or {}), "namespace": "t"}
        metadata.setdefault("name", case["object"]["spec"].get("modelRef", "m"))
        reply = _create(client, "Model", {"metadata": metadata, "spec": model.get("spec", model)})
        sent |= {"model": {"metadata": metadata, "spec": model.get("spec", model)}, "modelVerdict": _verdict(reply)}
        if reply.accepted:
            sent["modelStored"] = reply.body["spec"]
    obj = {"metadata": {**case["object"]["metadata"], "namespace": "t"}, "spec": case["object"].get("spec")}
    reply = _create(client, case["kind"], obj)
    sent |= {"object": obj, "verdict": _verdict(reply)}
    if reply.accepted:
        sent["stored"] = reply.body["spec"]
    return sent


def _create(client: Client, kind: str, obj: Case) -> Reply:
    body = {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": kind, **obj}
    return client.ask("POST", f"{API}/{kind.lower()}s?fieldValidation=Strict", body)


def _verdict(reply: Reply) -> Case:
    if reply.accepted:
        return {"allowed": True}
    by = "schema" if reply.body.get("reason") == "Invalid" else "decoding"
    return {"allowed": False, "by": by, "code": reply.code, "message": reply.body.get("message", "")[:300]}


def _listed(client: Client, path: str) -> list[Case]:
    items: list[Case] = client.ask("GET", path, None).body["items"]
    return items


def _wait(client: Client) -> None:
    """Until the operator has been quiet."""
    begun = changed = time.monotonic()
    before: Sequence[str] = ()
    while time.monotonic() - changed < SETTLED and time.monotonic() - begun < LONGEST:
        time.sleep(1)
        paths = (f"{API}/models", f"{API}/inferenceservices", "/apis/apps/v1/namespaces/t/deployments")
        now = [item["metadata"]["resourceVersion"] for path in paths for item in _listed(client, path)]
        if now != before:
            before, changed = now, time.monotonic()


def _observe(client: Client, recorded: Sequence[Case]) -> None:
    """Add what the operator says of each object, and the Deployment that it has made."""
    lists = {kind: _by_name(_listed(client, f"{API}/{kind.lower()}s")) for kind in ("Model", "InferenceService")}
    deployments = _by_name(_listed(client, "/apis/apps/v1/namespaces/t/deployments"))
    for case in recorded:
        if case["verdict"]["allowed"]:
            name = case["object"]["metadata"]["name"]
            case.update(_status(lists[case["kind"]].get(name, {})))
            if case["kind"] == "InferenceService":
                case["modelStatus"] = _status(lists["Model"].get(case["stored"].get("modelRef", ""), {}))
                case["deployment"] = _pod(deployments.get(name))


def _by_name(items: Sequence[Case]) -> dict[str, Case]:
    return {item["metadata"]["name"]: item for item in items}


def _status(obj: Case) -> Case:
    status = obj.get("status") or {}
    conditions = status.get("conditions") or []
    keys = ("type", "status", "reason", "message")
    return {"phase": status.get("phase"), "conditions": [{key: each.get(key) for key in keys} for each in conditions]}


def _pod(deployment: Case | None) -> Case | None:
    if deployment is None:
        return None
    spec = deployment["spec"]["template"]["spec"]
    container = spec["containers"][0]
    kept = {key: container[key] for key in ("image", "args", "command", "resources") if container.get(key)}
    return {**kept, **({"tolerations": spec["tolerations"]} if spec.get("tolerations") else {})}


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])))
