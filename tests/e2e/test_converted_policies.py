"""Policies of Kyverno and Gatekeeper, converted, on the API server: it takes them all, and they decide there."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from typing import Any

import yaml

from tests.e2e.kubectl import Answer, Kubectl, Object
from tests.e2e.programs import modelgate
from tests.e2e.test_export import NEEDS_1_36, installed
from tests.shared import ROOT

FOLDER = ROOT / "tests" / "fixtures" / "policies"


def asked(kubectl: Kubectl, kind: str, name: str, namespace: str = "kube-public", **content: Any) -> Answer:
    """The answer to a dry run about a new object."""
    metadata = {"name": name, "namespace": namespace, "labels": content.pop("labels", {})}
    obj: Object = {"apiVersion": "v1", "kind": kind, "metadata": metadata, **content}
    return kubectl.run("create", "-f", "-", "--dry-run=server", "-o=json", stdin=json.dumps(obj))


def converted(kubernetes: Sequence[str] = ()) -> list[Object]:
    done = subprocess.run(
        modelgate("policies", "convert", str(FOLDER), *kubernetes), capture_output=True, text=True, check=False
    )
    assert "5 of 8 converted" in done.stderr
    return list(yaml.safe_load_all(done.stdout))


@NEEDS_1_36
def test_converted_policies_decide_on_the_api_server(plane):
    kubectl = plane.kubectl
    with installed(kubectl, converted()):
        owned = asked(kubectl, "ConfigMap", "converted-a", labels={"owner": "a"}, data={"a": ""})
        assert owned.code == 0, owned.err
        assert json.loads(owned.out)["data"] == {"a": "", "marked": "yes"}
        assert "no owner of converted-a" in asked(kubectl, "ConfigMap", "converted-a").err
        many = {"a": "", "b": "", "c": ""}
        assert "too many keys" in asked(kubectl, "ConfigMap", "other", data=many).err
        assert asked(kubectl, "ConfigMap", "other", "default", data=many).code == 0
        assert "set team, so that it is found" in asked(kubectl, "Secret", "converted-a").err
        assert asked(kubectl, "Secret", "converted-a", labels={"team": "a"}).code == 0
        for name, namespace in (
            ("converted-free", "kube-public"),
            ("other", "kube-public"),
            ("converted-a", "default"),
        ):
            answer = asked(kubectl, "Secret", name, namespace)
            assert answer.code == 0, answer.err
