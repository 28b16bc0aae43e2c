"""A changed rule is seen from outside: the digest in use is in ``/readyz``, in a metric and in every stamp."""

import base64
import contextlib
import json
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import orjson

from tests.serve.conftest import Served, until
from tests.serve.test_noted import KIND, MODEL, RESOURCE
from tests.shared import ROOT
from webhook.admission import patch
from webhook.admission.stamp import Stamp

RULES = ROOT / "policies" / "llmkube"
REVIEW = {"uid": "1", "operation": "CREATE", "kind": KIND, "resource": RESOURCE, "name": "m", "namespace": "n"}


def digests(served: Served) -> set[str]:
    """What a gate says of its rules, in three places."""
    ready = re.search(r"^catalog (\w+)$", served.get("/readyz")[1], re.MULTILINE)
    pack = re.search(r"^pack llmkube (\w{16})$", served.get("/readyz")[1], re.MULTILINE)
    shown = r'^modelgate_catalog_info\{digest="(\w+)",packs="llmkube:(\w+)"\} 1'
    metric = re.search(shown, served.get("/metrics")[1], re.MULTILINE)
    assert ready
    assert pack
    assert metric
    assert metric[2] == pack[1]
    return {ready[1], metric[1], stamp(served).catalog}


def stamp(served: Served) -> Stamp:
    """The stamp that a new Model gets."""
    model = {**MODEL, "spec": {"source": "hf://org/repo"}}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {**REVIEW, "object": model}}
    with contextlib.closing(served.connection()) as connection:
        connection.request("POST", "/mutate", json.dumps(review), {"Content-Type": "application/json"})
        answer = orjson.loads(connection.getresponse().read())["response"]
    found = Stamp.matching(patch.apply(model, orjson.loads(base64.b64decode(answer["patch"]))))
    assert found is not None
    return found


def test_a_changed_rule_is_seen_in_readiness_metric_and_stamp(serve: Callable[..., Served], tmp_path: Path) -> None:
    """As a mount over the files of the gate changes them: here, a rule that denies only warns from now on."""
    folder = tmp_path / "rules" / "llmkube"
    shutil.copytree(RULES, folder)
    served = serve("--only-policies", str(folder.parent))
    (before,) = digests(served)
    rules = folder / "model.yaml"
    rules.write_text(rules.read_text().replace("    strict: Deny\n", "", 1))
    served.process.send_signal(signal.SIGHUP)
    until(lambda: before not in served.get("/readyz")[1], "the changed rules are in use")
    (after,) = digests(served)
    assert after != before
