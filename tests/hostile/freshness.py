"""Part 7: a large review is decided by today's rules and objects, as a small one is."""

from __future__ import annotations

import base64
import shutil
import tempfile
from pathlib import Path
from typing import Any

import orjson

from tests.hostile import bodies
from tests.hostile.bars import Report
from tests.hostile.cluster import following, runtime
from tests.hostile.serving import Gate, serving, wait_until
from tests.shared import ROOT

PART = "freshness"
SECONDS = 20.0
RUNTIME = "comes-later"


def run(report: Report) -> None:
    """Change the rules, then the view, and ask with large reviews."""
    report.add(PART, "reload of rules: large reviews with another digest than /readyz", stale_after_reload(), "", 0)
    report.add(PART, "change of the view: large reviews answered unlike small ones", stale_after_change(), "", 0)


def stale_after_reload() -> int:
    """How many of two large reviews, before and after a reload, are stamped with another digest than /readyz says."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "policies"
        shutil.copytree(ROOT / "policies" / "llmkube", folder / "llmkube")  # one API is loaded quickly
        with serving("--only-policies", str(folder), MODELGATE_POLICIES_POLL_SECONDS="0.2") as gate:
            before, stale = digest(gate), int(stamped_digest(gate) != digest(gate))
            rules = folder / "llmkube" / "model.yaml"
            rules.write_text(rules.read_text() + "\n# changed\n")
            wait_until(lambda: digest(gate) != before, SECONDS * 3, "the rules are loaded again")
            return stale + int(stamped_digest(gate) != digest(gate))


def digest(gate: Gate) -> str:
    return next(line.split()[1] for line in gate.get("/readyz")[1].splitlines() if line.startswith("catalog "))


def stamped_digest(gate: Gate) -> str:
    """The digest in the stamp of a large object."""
    known = bodies.kinds()["Model"]
    response = answered(gate, "mutate", bodies.review(known, _large(bodies.good(known))))
    operations = orjson.loads(base64.b64decode(response["patch"]))
    stamp = next(each["value"] for each in operations if "modelgate.dev" in orjson.dumps(each).decode())
    found: str = orjson.loads(stamp if isinstance(stamp, str) else stamp["modelgate.dev/normalised"])["catalog"]
    return found


def stale_after_change() -> int:
    """How many of two large reviews, before and after a runtime comes, are answered unlike a small one."""
    with following() as (cluster, flags), serving(*flags) as gate:
        stale = int(not is_missed(gate, _service()) or not is_missed(gate, _large(_service())))
        cluster.put("clusterservingruntimes", runtime(RUNTIME))
        wait_until(lambda: not is_missed(gate, _service()), SECONDS, "a small review sees the runtime")
        return stale + int(is_missed(gate, _large(_service())))


def is_missed(gate: Gate, obj: dict[str, Any]) -> bool:
    """Whether the answer names the runtime that a service asks for as missing."""
    known = bodies.kinds()["InferenceService"]
    response = answered(gate, "validate", bodies.review(known, obj))
    causes = response.get("status", {}).get("details", {}).get("causes", [])
    return RUNTIME in orjson.dumps([causes, response.get("warnings")]).decode()


def answered(gate: Gate, call: str, body: bytes) -> dict[str, Any]:
    status, text = gate.post(f"/{call}?timeout=5s", body)
    assert status == 200, (status, text)
    response: dict[str, Any] = orjson.loads(text)["response"]
    return response


def _service() -> dict[str, Any]:
    obj = bodies.good(bodies.kinds()["InferenceService"])
    obj["spec"]["runtime"] = {"name": RUNTIME, "kind": "ClusterServingRuntime"}
    return obj


def _large(obj: dict[str, Any]) -> dict[str, Any]:
    annotations = {"note": "x" * (bodies.FEW_BYTES + 1)}
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}
