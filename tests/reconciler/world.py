"""A server, a loop that a test steps by hand, a view that is never late, and a clock that stands still."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from reconciler import audit
from reconciler.audit import Ruling
from reconciler.guard import trimmed
from reconciler.loop import Loop
from reconciler.projection import Controller, Observed, Reduce
from reconciler.resource import APIResource, Item, Key, Kind
from reconciler.say import reports
from reconciler.say.conditions import find
from tests.definitions import FETCHED
from tests.reconciler.apiserver import ApiServer, Denied
from tests.reconciler.models import NOW, Time
from webhook import engine
from webhook.admission.decision import GroupVersionKind, Request, group_version
from webhook.cluster import LabelSelection
from webhook.cluster.view import MemoryView
from webhook.facts.settings import DEFAULT_SETTINGS

FOLLOWED = Key("ome", "inferenceservice-config")
MODEL = Kind("inference.llmkube.dev", "Model")


@cache
def rules(profile: str = "standard") -> Ruling:
    return audit.load(profile, DEFAULT_SETTINGS)


def observed(view: Any, **more: Any) -> Observed:
    """What is known of objects in a view, with what descriptions make of them."""
    return Observed(NOW, view, made=lambda each: audit.made(each, rules(), view), **more)


def older(by: Ruling) -> Ruling:
    """The same rules, as those of another catalog."""
    return replace(by, catalog=replace(by.catalog, rules="older"))


class Gate:
    """The real engine as the admission of a server."""

    def __init__(self, by: Ruling, view: Any) -> None:
        self.by = by
        self.view = view

    def __call__(self, obj: dict[str, Any]) -> dict[str, Any]:
        known = self.by.catalog.find(GroupVersionKind(*group_version(obj.get("apiVersion", "")), obj.get("kind", "")))
        if known is None:
            return obj
        request = Request(known.gvk, known.plural, "CREATE", obj, name=obj["metadata"]["name"])
        mutated = engine.mutate(request, self.by.catalog, self.view, self.by.options).object
        decision = engine.validate(replace(request, object=mutated), self.by.catalog, self.view, self.by.options)
        if decision.causes:
            text = "; ".join(map(str, decision.causes))
            raise Denied(f'admission webhook "validate.modelgate.dev" denied the request: {text}')
        return mutated


class ServerView:
    """A LiveView without threads: what the server has, at once."""

    def __init__(self, server: ApiServer, resources: Sequence[APIResource], reads: Mapping[Kind, Reduce]) -> None:
        self._server = server
        self.told: dict[Item, dict[str, Any]] = {}
        self._reads = reads
        self.resources = {Kind(each.group, each.kind): each for each in resources}

    def watches(self, kind: Kind, key: Key) -> bool:
        return kind in self._reads or kind not in FETCHED or key == FOLLOWED

    def outside(self, _: str) -> bool:
        return False

    def follows_one(self, _: Kind) -> bool:
        return False

    def resource(self, kind: Kind) -> APIResource | None:
        return self.resources.get(kind)

    def held(self, kind: Kind, key: Key) -> dict[str, Any] | None:
        return self._all().get(kind, key.namespace, key.name)

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        return self.held(kind, Key(namespace, name))

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        return self._all().list(kind, namespace)

    def names(self, kind: Kind) -> list[Key]:
        return [Key.of(each) for each in self.list(kind)]

    def written(self, kind: Kind, _: dict[str, Any], after: dict[str, Any]) -> None:
        self.told[Item(kind, Key.of(after))] = after

    def listed(self, _: Kind) -> bool:
        return True

    def follows(self, _: Kind) -> bool:
        return True

    def read(self, question: Any, _: float) -> dict[str, Any] | None:
        if isinstance(question, LabelSelection):
            return {"items": [*self._all().list(question.kind, question.namespace or None)]}
        return self._all().get(question.kind, question.namespace, question.name)

    def _all(self) -> MemoryView:
        with self._server.changed:
            objects = list(self._server._objects.items())
        return MemoryView(self._reduced(_resource(place[0], obj), obj) for place, obj in objects)

    def _reduced(self, resource: APIResource, obj: dict[str, Any]) -> dict[str, Any]:
        how = self._reads.get(Kind(resource.group, resource.kind))
        return (how or trimmed)(obj, resource)


def _resource(collection: str, obj: dict[str, Any]) -> APIResource:
    api, _, plural = collection.rpartition("/")
    group, _, version = api.rpartition("/")
    return APIResource(group, version, plural, obj["kind"])


class World:
    """Tells the loop of every change once, as informers would."""

    def __init__(
        self,
        server: ApiServer,
        time: Time,
        *controllers: Controller,
        by: Ruling | None = None,
        also: Sequence[APIResource] = (),
    ) -> None:
        self.server = server
        server.now = lambda: NOW
        self.time = time
        self.rules = by or rules()
        reads = {kind: how for each in controllers for kind, how in each.reads.items()}
        self.view = ServerView(server, [*self.rules.kinds(), *also], reads)
        by_kind = {Kind(each.resource.group, each.resource.kind): each for each in controllers}
        self.loop = Loop(server.api(), self.view, self.rules, by_kind, now=lambda: NOW, clock=time)

    def settle(self) -> int:
        """Work off all that is due; returns the steps."""
        steps = 0
        while (item := self.loop.queue.get(wait=False)) is not None:
            self.loop.step(item)
            self.loop.queue.done(item)
            steps += 1
            assert steps < 200, "it never comes to rest"
            self.notice()
        return steps

    def notice(self) -> None:
        self.loop.arrived()
        seen = {}
        for kind in (*self.view.resources, *CHILDREN):
            for obj in self.view.list(kind):
                seen[Item(kind, Key.of(obj))] = obj
        for item in self.view.told.keys() - seen.keys():
            self.loop.changed(*item, self.view.told.pop(item), None)
        for item, obj in seen.items():
            before = self.view.told.get(item)
            if before != obj:
                self.view.told[item] = obj
                self.loop.changed(*item, before, obj)

    def reconcile(self) -> int:
        self.notice()
        return self.settle()

    def wait_of(self, seconds: float) -> int:
        self.time.seconds += seconds
        self.server.requests.clear()
        return self.reconcile()

    def obj(self, plural: str = "models", name: str = "m", namespace: str = "default") -> dict[str, Any]:
        return self.server.get(plural, name, namespace)

    def status(self) -> dict[str, Any]:
        return self.obj().get("status", {})

    def condition(self, type_: str = "Normalised") -> dict[str, Any] | None:
        return find(self.status().get("conditions", []), type_)

    def verdict(self) -> tuple[str, str] | None:
        found = self.condition()
        return None if found is None else (found["status"], found["reason"])

    def events(self) -> list[tuple[str, str]]:
        return [(each["type"], each["reason"]) for each in self.server.all("events")]


CHILDREN = (Kind("", "ConfigMap"), Kind("", "Node"), Kind("", "PersistentVolumeClaim"), *reports.KINDS)
