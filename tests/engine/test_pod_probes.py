"""Probes from the sentences of the API documents about pods: each is a fault that Kubernetes finds in the pods."""

import copy
import re

import pytest
import yaml

from tests.shared import shared
from webhook import engine
from webhook.admission import GroupVersionKind, Request
from webhook.cluster import MemoryView
from webhook.engine import Options

CLASSES = ("rules of Kubernetes", "Windows rule", "resources of AIM")
ELSEWHERE = re.compile(
    r"hostNetwork|overhead without|priority by hand|nodeName set"  # Kubernetes accepts it
    r"|two ports of one name|not limited|claim of no pod claim"  # only the whole pod shows it
)
GROUPS = {"aim": ("aim.silogen.ai", "v1alpha1"), "ome": ("ome.io", "v1beta1")}


def placed(obj, path, value):
    *around, last = re.findall(r"[^.\[\]']+", path)
    for key in around:
        obj = obj[int(key)] if isinstance(obj, list) else obj.setdefault(key, {})
    obj[int(last) if isinstance(obj, list) else last] = value


@pytest.mark.parametrize("name", ["aim", "ome"])
def test_every_probe_of_a_pod_is_answered_in_kubernetes_words(name, loaded):
    document = yaml.safe_load(shared("cases", "sentences", f"{name}.yaml").read_text())
    probes = [each for each in document["probes"] if any(text in each.get("note", "") for text in CLASSES)]
    silent = []
    for probe in probes:
        gvk = GroupVersionKind(*GROUPS[name], probe["api"].rpartition("/")[2])
        head = {"apiVersion": f"{gvk.group}/{gvk.version}", "kind": gvk.kind}
        obj = {
            **head,
            "metadata": {"name": "a", "namespace": "default"},
            **copy.deepcopy(document["bases"][probe["from"]]),
        }
        for path, value in probe["with"].items():
            placed(obj, path, value)
        request = Request(gvk, loaded.kinds[gvk].plural, "CREATE", obj)
        found = engine.validate(request, loaded, MemoryView(probe.get("others", [])), Options())
        if not any(each.code == "KP001" for each in (*found.causes, *found.warnings)):
            silent.append(probe["name"])
    assert [each for each in silent if not ELSEWHERE.search(each)] == []
    assert len(silent) < len(probes) / 2
