"""What the tests of the loop share: requests to expect, and objects as the gate stores them."""

from reconciler.projection import Controller
from reconciler.projections.llmkube import MODELS
from reconciler.resource import APIResource, Item, Key
from tests.reconciler.models import model
from tests.reconciler.world import MODEL, Gate

PATH = MODELS.path("default", "m")
ASK = ("PATCH", PATH)
CONDITION = ("PATCH", MODELS.path("default", "m", "status"))
STATUS = ("PUT", MODELS.path("default", "m", "status"))
EVENT = ("POST", "/api/v1/namespaces/default/events")
BAD = {"hardware": {"memoryFraction": 1.5}}
REPORTS = APIResource("openreports.io", "v1alpha1", "reports", "Report")
CONFIG_MAPS = APIResource("", "v1", "configmaps", "ConfigMap")
ITEM = Item(MODEL, Key("default", "m"))


def stamped(world, obj):
    """The object as the gate stores it."""
    return Gate(world.rules, world.view)(obj)


def stored(world, obj, plural="models"):
    return world.server.put(plural, stamped(world, obj))


def corrected(world):
    stored(world, {**world.obj(), "spec": model()["spec"]})
    world.reconcile()


def projecting(world, projection, children=()):
    made = projection if callable(projection) else lambda *_: projection
    world.loop._controllers = {MODEL: Controller(MODELS, made, children=children)}
    return world


def open_model(**source):
    metadata = {"name": "m", "namespace": "default"}
    api = {"apiVersion": "llmaz.io/v1alpha1", "kind": "OpenModel", "metadata": metadata}
    return {**api, "spec": {"familyName": "llama3", "source": source}}
