"""A small API server over real HTTP: enough of lists, watches, patches and server-side apply for the reconciler.

What it does not model (schemas, defaulting of built-in kinds, RBAC) the e2e tests show against the real one.
"""

from __future__ import annotations

import copy
import datetime as dt
import itertools
import json
import re
import threading
from collections.abc import Callable, Sequence
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from kubernetes.client import ApiClient, Configuration

from reconciler.writer import Writer
from webhook.cluster.view import APIResource

Object = dict[str, Any]
Place = tuple[str, str, str]  # group/version and plural, namespace, name

PATH = re.compile(
    r"/apis?/(?P<api>.+?)(/namespaces/(?P<ns>[^/]+))?/(?P<plural>[a-z]+)(/(?P<name>[^/]+))?(/(?P<sub>status|log))?"
)
ROOT = re.compile(r"/apis/(?P<group>[^/]+)(/(?P<version>[^/]+))?|/api/(?P<core>[^/]+)")
PATIENCE = 60.0  # for an answer that is due at once; only a broken test waits that long

PAUSE = 7
"""Seconds that an answer 429 asks for."""


class Denied(Exception):
    """What an admission hook raises to refuse."""

    def __init__(self, message: str, code: int = 422) -> None:
        super().__init__(message)
        self.code = code


class ApiServer:
    """A context manager; ``admission`` sees every write of a main resource, as a mutating webhook would."""

    def __init__(self, admission: Callable[[Object], Object] = lambda obj: obj) -> None:
        self.admission = admission
        self.access: Callable[[Object], Object] = lambda _spec: {"allowed": True}  # SubjectAccessReviews
        self.now = lambda: dt.datetime.now(dt.UTC)
        self.warnings: list[str] = []  # what admission warns of, on every patch
        self.requests: list[tuple[str, str]] = []
        self.dry_runs: list[tuple[str, str]] = []
        self.logs: dict[str, str] = {}  # by pod
        self.changed = threading.Condition()
        self.served: list[APIResource] | None = None  # None: whatever is asked for, without discovery
        self._objects: dict[Place, Object] = {}
        self._applied: dict[tuple[Place, str], Object] = {}
        self._events: list[tuple[int, str, Place, Object]] = []
        self._faults: list[tuple[str, str, int, str]] = []
        self._versions = itertools.count(101)
        self._version = 100
        self._oldest = 0
        self._generation = 0  # of the watches: those of an older one end
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.state = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end_watches()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def client(self) -> ApiClient:
        return ApiClient(Configuration(host=self.url))

    def api(self) -> Writer:
        return Writer(self.client())

    # What a test does beside the reconciler.

    def put(self, plural: str, obj: Object) -> Object:
        """Stores an object as it is, past admission; a changed spec is a new generation."""
        place = (f"{obj['apiVersion']}/{plural}", obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        return copy.deepcopy(self._store(place, copy.deepcopy(obj)))

    def get(self, plural: str, name: str, namespace: str = "default") -> Object:
        with self.changed:
            return next(
                o
                for (api, ns, n), o in self._objects.items()
                if api.endswith(f"/{plural}") and (ns, n) == (namespace, name)
            )

    def all(self, plural: str) -> list[Object]:
        with self.changed:
            return [obj for (api, _, _), obj in self._objects.items() if api.endswith(f"/{plural}")]

    def delete(self, plural: str, name: str, namespace: str = "default") -> None:
        with self.changed:
            place = next(p for p in self._objects if p[0].endswith(f"/{plural}") and p[1:] == (namespace, name))
            self._announce("DELETED", place, self._objects.pop(place))

    def fail(self, method: str, path: str, code: int, message: str = "no", times: int = 1) -> None:
        """The next requests with ``path`` in their path or query get an error (0: the connection is cut)."""
        self._faults += [(method, path, code, message)] * times

    def serve(self, *resources: APIResource) -> None:
        """From now on discovery knows these resources, and whatever is not among them is not there."""
        with self.changed:
            self.served = [*(self.served or ()), *resources]

    def unserve(self, resource: APIResource) -> None:
        """As when its CRD is deleted: the objects go, and the watches end."""
        with self.changed:
            self.served = [each for each in self.served or () if each != resource]
            self._objects = {p: o for p, o in self._objects.items() if p[0] != _collection(resource)}
            self.end_watches()

    def forget_history(self) -> None:
        """As after a compaction: no watch can begin before now."""
        with self.changed:
            self._oldest = self._version
            self._events.clear()

    def end_watches(self) -> None:
        with self.changed:
            self._generation += 1
            self.changed.notify_all()

    def bookmark(self, api: str) -> None:
        with self.changed:
            version = self._next_version()
            self._events.append((version, "BOOKMARK", (api, "", ""), {"metadata": {"resourceVersion": str(version)}}))
            self.changed.notify_all()

    def wait(self, predicate: Callable[[], Any]) -> None:
        with self.changed:
            assert self.changed.wait_for(predicate, PATIENCE), "it did not happen"

    def writes(self) -> list[tuple[str, str]]:
        return [(method, path) for method, path in self.requests if method != "GET"]

    # What the handler does.

    def _next_version(self) -> int:
        self._version = next(self._versions)
        return self._version

    def _announce(self, type_: str, place: Place, obj: Object) -> None:
        version = self._next_version()
        obj["metadata"]["resourceVersion"] = str(version)
        self._events.append((version, type_, place, copy.deepcopy(obj)))
        self.changed.notify_all()

    def _store(self, place: Place, obj: Object) -> Object:
        with self.changed:
            before = self._objects.get(place)
            metadata = obj["metadata"]
            if before is None:
                metadata.setdefault("uid", f"uid-{place[2]}-{self._version}")
                metadata["generation"] = 1
            else:
                metadata["uid"] = before["metadata"]["uid"]
                same = before.get("spec") == obj.get("spec")
                metadata["generation"] = before["metadata"]["generation"] + (not same)
                metadata["resourceVersion"] = before["metadata"]["resourceVersion"]
                if before == obj:
                    return before
            self._objects[place] = obj
            self._announce("MODIFIED" if before else "ADDED", place, obj)
            return obj

    def _admitted(self, place: Place, obj: Object) -> Object:
        return self._store(place, self.admission(copy.deepcopy(obj)))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._serve()

    do_PATCH = do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815  (http.server's names)

    def _serve(self) -> None:
        state: ApiServer = self.server.state
        url = urlsplit(self.path)
        self.query = dict(parse_qsl(url.query))
        length = int(self.headers.get("content-length") or 0)
        self.body = json.loads(self.rfile.read(length)) if length else None
        with state.changed:
            (state.dry_runs if "dryRun" in self.query else state.requests).append((self.command, url.path))
            state.changed.notify_all()
        for fault in state._faults:
            if fault[0] == self.command and fault[1] in self.path:
                state._faults.remove(fault)
                self._fault(*fault[2:])
                return
        if state.served is not None and (root := ROOT.fullmatch(url.path)):
            self._discover(state.served, root["group"] or "", root["version"] or root["core"])
            return
        match = PATH.fullmatch(url.path)
        if state.served is not None and f"{match['api']}/{match['plural']}" not in map(_collection, state.served):
            self._status(404, "the server could not find the requested resource")
            return
        place = (f"{match['api']}/{match['plural']}", match["ns"] or "", match["name"] or "")
        try:
            self._answer(state, place, match["sub"] or "")
        except Denied as denial:
            self._status(denial.code, str(denial))

    def _answer(self, state: ApiServer, place: Place, subresource: str) -> None:
        if not place[2] and self.command == "GET":
            (self._watch if "watch" in self.query else self._list)(state, place)
        elif place[0].endswith("/subjectaccessreviews"):
            self._send(201, {**self.body, "status": state.access(self.body["spec"])})
        elif self.command == "POST":
            self._create(state, (*place[:2], self.body["metadata"]["name"]))
        elif self.command == "PATCH" and "apply" in self.headers["content-type"]:
            self._apply(state, place, subresource)
        elif subresource == "log" and place[2] in state.logs:
            self._send_log(state.logs[place[2]])
        elif place not in state._objects:
            self._status(404, f"{place[2]} not found")
        elif self.command == "GET":
            self._send(200, state._objects[place])
        elif self.command == "PATCH":
            patched = merge(state._objects[place], self.body)
            dry = "dryRun" in self.query
            answer = state.admission(copy.deepcopy(patched)) if dry else state._admitted(place, patched)
            self._send(200, answer, state.warnings)
        elif self.command == "DELETE":
            state.delete(place[0].rpartition("/")[2], place[2], place[1])
            self._send(200, {"kind": "Status", "status": "Success"})
        else:
            self._replace(state, place, subresource)

    def _send_log(self, log: str) -> None:
        """The last lines and, as a kubelet does, of these the first bytes."""
        lines = log.splitlines(keepends=True)[-int(self.query["tailLines"]) :]
        body = "".join(lines).encode()[: int(self.query["limitBytes"])]
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _discover(self, served: Sequence[APIResource], group: str, version: str | None) -> None:
        found = [each for each in served if each.group == group and version in {None, each.version}]
        if not found:
            self._status(404, "the server could not find the requested resource")
        elif version is None:
            versions = [{"version": each} for each in dict.fromkeys(each.version for each in found)]
            self._send(200, {"kind": "APIGroup", "versions": versions, "preferredVersion": versions[-1]})
        else:
            names = [
                {"name": f"{each.plural}{sub}", "kind": each.kind, "namespaced": each.namespaced}
                for each in found
                for sub in ("/status", "")
            ]
            self._send(200, {"kind": "APIResourceList", "resources": names})

    def _create(self, state: ApiServer, place: Place) -> None:
        if place in state._objects:
            self._status(409, f"{place[2]} already exists")
        else:
            self._send(201, state._admitted(place, self.body))

    def _replace(self, state: ApiServer, place: Place, subresource: str) -> None:
        current = state._objects[place]
        if self.body["metadata"]["resourceVersion"] != current["metadata"]["resourceVersion"]:
            self._status(409, "the object has been modified")
        elif subresource:
            self._send(200, state._store(place, self._owned({**copy.deepcopy(current), "status": self.body["status"]})))
        else:
            self._send(200, state._admitted(place, self.body))

    def _apply(self, state: ApiServer, place: Place, subresource: str) -> None:
        current = state._objects.get(place)
        if current is None and subresource:
            self._status(404, f"{place[2]} not found")
            return
        uid = self.body["metadata"].pop("uid", None)
        if current is not None and uid not in {None, current["metadata"]["uid"]}:
            self._status(409, "uid mismatch")
            return
        version = self.body["metadata"].pop("resourceVersion", None)
        if current is not None and version not in {None, current["metadata"]["resourceVersion"]}:
            self._status(409, "the object has been modified")
            return
        applied = {"status": self.body["status"]} if subresource else self.body
        last = state._applied.get((place, subresource), {})
        merged = apply(current or {}, applied, last)
        state._applied[place, subresource] = applied
        self._send(200, state._store(place, self._owned(merged)) if subresource else state._admitted(place, merged))

    def _owned(self, obj: Object) -> Object:
        """With a note of who has written the status."""
        obj = copy.deepcopy(obj)
        manager = self.query["fieldManager"]
        kept = [each for each in obj["metadata"].get("managedFields", ()) if each["manager"] != manager]
        time = self.server.state.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        obj["metadata"]["managedFields"] = [*kept, {"manager": manager, "subresource": "status", "time": time}]
        return obj

    def _list(self, state: ApiServer, place: Place) -> None:
        with state.changed:
            found = sorted((p, o) for p, o in state._objects.items() if within(p, place))
            version = str(state._version)
        if selector := self.query.get("labelSelector"):
            found = [(p, o) for p, o in found if all(map(partial(_is_labelled, o), selector.split(",")))]
        start, limit = int(self.query.get("continue") or 0), int(self.query.get("limit") or len(found))
        items = [self._partial(obj) for _, obj in found[start : start + limit]]
        more = str(start + limit) if start + limit < len(found) else ""
        self._send(200, {"kind": "List", "metadata": {"resourceVersion": version, "continue": more}, "items": items})

    def _partial(self, obj: Object) -> Object:
        return {"metadata": obj["metadata"]} if "PartialObjectMetadata" in self.headers["accept"] else obj

    def _watch(self, state: ApiServer, place: Place) -> None:
        after, generation = int(self.query["resourceVersion"]), state._generation
        self.send_response(200)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        if after < state._oldest:
            self._event(
                "ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
            )
        else:
            self._follow(state, place, after, generation)
        self.wfile.write(b"0\r\n\r\n")

    def _follow(self, state: ApiServer, place: Place, after: int, generation: int) -> None:
        while True:
            with state.changed:
                while state._version <= after and state._generation == generation:
                    state.changed.wait()
                if state._generation != generation:
                    return  # what has come since is for the next watch
                news = [event for event in state._events if event[0] > after and within(event[2], place)]
                after = state._version
            for _, type_, _, obj in news:
                self._event(type_, self._partial(obj))

    def _event(self, type_: str, obj: Object) -> None:
        line = json.dumps({"type": type_, "object": obj}).encode() + b"\n"
        self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")

    def _fault(self, code: int, message: str) -> None:
        if code:
            self._status(code, message)
        else:
            self.close_connection = True
            self.connection.close()

    def _status(self, code: int, message: str) -> None:
        self._send(code, {"kind": "Status", "status": "Failure", "code": code, "reason": "Test", "message": message})

    def _send(self, code: int, content: Object, warnings: Sequence[str] = ()) -> None:
        body = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        if code == 429:
            self.send_header("retry-after", str(PAUSE))
        for text in warnings:
            quoted = text.replace("\\", "\\\\").replace('"', '\\"')
            self.send_header("warning", f'299 - "{quoted}"'.encode().decode("latin-1"))
        self.end_headers()
        self.wfile.write(body)


def _is_labelled(obj: Object, requirement: str) -> bool:
    """Of the forms of a selector, ``key in (value)`` and ``!key``."""
    labels = obj["metadata"].get("labels", {})
    key, _, value = requirement.removesuffix(")").partition(" in (")
    if "=" in requirement:
        return labels.get(requirement.partition("=")[0]) == requirement.partition("=")[2]
    return requirement[1:] not in labels if requirement.startswith("!") else labels.get(key) == value


def _collection(resource: APIResource) -> str:
    return f"{resource.api_version}/{resource.plural}"


def within(place: Place, collection: Place) -> bool:
    return place[0] == collection[0] and collection[1] in {"", place[1]}


def merge(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def apply(current: Any, wanted: Any, last: Any) -> Any:
    """Server-side apply by one manager: sets what is wanted, takes back what it wanted last. Conditions are a map."""
    if isinstance(wanted, dict):
        kept = dict(current) if isinstance(current, dict) else {}
        gone = set(last) - set(wanted) if isinstance(last, dict) else set()
        base = {key: value for key, value in kept.items() if key not in gone}
        return base | {key: apply(kept.get(key), value, (last or {}).get(key)) for key, value in wanted.items()}
    if isinstance(wanted, list) and all(isinstance(item, dict) and "type" in item for item in wanted):
        by_type = [{item["type"]: item for item in items or ()} for items in (current, wanted, last)]
        return list(apply(*by_type).values())
    return wanted
