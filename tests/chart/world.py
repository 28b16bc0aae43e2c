"""A cluster in which the chart runs well, as `modelgate doctor` sees it."""

import base64
import json
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from certs.authority import Authority
from certs.lifetimes import Lifetimes
from tests.chart.helm import NAMESPACE, rendered
from tests.definitions import definitions
from tests.reconciler.world import rules
from webhook import engine
from webhook.admission.decision import GroupVersionKind, Request
from webhook.cli.doctor import examined
from webhook.cli.doctor.snapshot import Snapshot
from webhook.cluster.view import MemoryView

RULES = rules()
NOW = datetime(2026, 11, 1, tzinfo=UTC)
CA = Authority.create(NOW)
OLD = Authority.create(NOW - timedelta(days=364), Lifetimes(ca=timedelta(days=365)))
PEM = CA.credentials().certificate.decode()
TRUE_FILES = "certs=" + json.dumps({"mode": "files", "files": {"secretName": "theirs", "caBundle": PEM}})
METRICS = 'modelgate_catalog_info{digest="d"} 1.0\nmodelgate_catalog_loads_total{outcome="refused"} 0.0\n'


class World:
    """A cluster in which the chart runs well: its objects, and what only a live cluster answers.

    The definitions are large, so all worlds share them: a fault changes a copy, see ``definition``.
    """

    def __init__(self, *sets):
        self.objects = [*(deepcopy(each) for each in rendered(*sets)), *definitions()]
        self.metrics, self.said, self.dead = {}, {}, set()
        self.judged = judged
        self.namespace = None
        self.version = "v1.36.3"
        self.unread = ()
        for each in self.of("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
            self.trust(each, CA)
        own = CA.credentials()
        self.add("Secret", "modelgate-ca", data={"tls.crt": encoded(own.certificate), "tls.key": encoded(own.key)})
        for number in range(2):
            self.add("Node", f"n{number}")
            self.add("Pod", f"gate-{number}", spec={"nodeName": f"n{number}"}, status=ready("True"))
            self.find("Pod", f"gate-{number}")["metadata"]["labels"] = self.pod_labels()
        if any(each["metadata"]["name"] == "modelgate-reconciler" for each in self.of("Deployment")):
            self.add("Pod", "reconciler-0", spec={"nodeName": "n0"}, status=ready("True"))
            self.find("Pod", "reconciler-0")["metadata"]["labels"] = self.pod_labels("modelgate-reconciler")

    def pod_labels(self, name="modelgate"):
        return self.find("Deployment", name)["spec"]["template"]["metadata"]["labels"]

    def add(self, kind, name, **rest):
        self.objects.append({"kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}, **rest})

    def of(self, *kinds):
        return [each for each in self.objects if each["kind"] in kinds]

    def find(self, kind, name="modelgate"):
        return next(each for each in self.of(kind) if each["metadata"]["name"] == name)

    def definition(self, name):
        """A definition of this world's own."""
        shared = self.find("CustomResourceDefinition", name)
        self.objects[self.objects.index(shared)] = own = deepcopy(shared)
        return own

    def remove(self, kind, name="modelgate"):
        self.objects.remove(self.find(kind, name))

    def trust(self, configuration, authority):
        for webhook in configuration["webhooks"]:
            webhook["clientConfig"]["caBundle"] = encoded(authority.credentials().certificate)

    def webhook(self, kind="Validating", name="modelgate"):
        return self.find(f"{kind}WebhookConfiguration", name)["webhooks"][0]

    def container(self, component="gate"):
        name = "modelgate" if component == "gate" else f"modelgate-{component}"
        return self.find("Deployment", name)["spec"]["template"]["spec"]["containers"][0]

    def dry_run(self, obj, plural):
        group, _, version = obj["apiVersion"].partition("/")
        known = RULES.catalog.find(GroupVersionKind(group, version, obj["kind"]))
        if known is None or known.plural != plural or known.namespaced != ("namespace" in obj["metadata"]):
            return 404, {"message": "404 page not found"}, []
        return self.judged(deepcopy(dict(obj)))

    def text(self, pod, _port, path):
        name = pod["metadata"]["name"]
        if path == "/readyz":
            return self.said.get(name, "ok\ncatalog d\n")
        return self.metrics.get(name, METRICS)

    def unanswered(self, namespace, service):
        return "does not exist" if f"{namespace}/{service}" in self.dead else ""

    def resource(self, kind):
        """Of Kubernetes' own kinds it knows Services."""
        specs = [each["spec"] for each in self.of("CustomResourceDefinition")]
        plurals = {(spec["group"], spec["names"]["kind"]): spec["names"]["plural"] for spec in specs}
        return {("", "Service"): "services", **plurals}.get(kind)

    def findings(self):
        snapshot = Snapshot(self.objects, NOW, self, self.version, self.unread)
        return list(examined(snapshot, RULES.catalog, self.namespace))


def judged(obj):
    """What the API server answers to a creation, by the real engine."""
    gvk = next(each for each in RULES.catalog.kinds if each.kind == obj["kind"])
    request = Request(gvk, RULES.catalog.kinds[gvk].plural, "CREATE", obj, name=obj["metadata"]["name"])
    mutated = engine.mutate(request, RULES.catalog, MemoryView(), RULES.options).object
    decision = engine.validate(replace(request, object=mutated), RULES.catalog, MemoryView(), RULES.options)
    message = "; ".join(map(str, decision.causes))
    return (422 if decision.causes else 201), {**mutated, "message": message}, [str(each) for each in decision.warnings]


def encoded(pem):
    return base64.b64encode(pem).decode()


def ready(status):
    return {"conditions": [{"type": "Ready", "status": status}]}
