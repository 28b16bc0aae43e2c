"""Enforcements and PolicyExceptions as an administrator writes them, and the moment of these tests."""

from pathlib import Path

from webhook.enforcement import Degrees, PolicyObject

CRDS = Path(__file__).parents[2] / "webhook/enforcement/crds"
NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z
LATER = "2027-02-01T00:00:00Z"
PAST = "2027-01-01T00:00:00Z"


def enforcement(name="e", **spec):
    return _object("Enforcement", name, spec)


def exception(name="x", **spec):
    return _object("PolicyException", name, {"reason": "a migration", "until": LATER, **spec})


def _object(kind, name, spec):
    spec = {key.rstrip("_"): value for key, value in spec.items()}
    return {"apiVersion": "modelgate.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def degrees(*objects, namespaces=None, now=NOW):
    return Degrees.of([PolicyObject.read(each) for each in objects], namespaces or {}, now)
