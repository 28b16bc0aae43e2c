"""The law of `modelgate check`: what it says of a file is what a strict dry run on a real API server says.

``python -m tests.e2e.offline -n N`` compares N mutated objects of all kinds, creations and updates: the verdict, the
causes and the object. Case ``i`` is the same in every run. Each difference is printed; the code is 1 if there is one.

A file cannot tell what a cluster alone knows. These differences are not counted:

- fields that the API server assigns: uid, resourceVersion, generation, creationTimestamp, managedFields, and the name
  that it makes of generateName. The causes of a generated name name a random text; the prefix has the same causes;
- whether a namespace exists (404). A namespace that cannot exist is refused by both, in other words;
- the time in ``spec.createdAt`` of an OpenModel, where the gate fills it in;
- the field of an error for which the API server has none ("<nil>"): `check` names the field of which its text speaks;
- the explanations that `check` adds to an error of the schema;
- the words about owners. `check` has those of Kubernetes 1.37, which also name the index of the owner;
- the stages of the API server. It stops at the first stage with an error: decoding (only the first wrong type), unknown
  fields, validation by the schema, and the webhook. `check` goes on, so that it has the causes of that stage and more.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from tests.e2e.assets import assets
from tests.e2e.client import Client, Reply, connected
from tests.e2e.crds import install_crds
from tests.e2e.gate import Gate
from tests.e2e.kinds import KINDS
from tests.e2e.kubectl import Object
from tests.e2e.plane import Plane
from tests.fuzz.decoder import places
from tests.shared import ROOT
from webhook import catalog
from webhook.admission.decision import Cause, GroupVersionKind, group_version
from webhook.admission.stamp import ANNOTATION
from webhook.catalog import KnownKind
from webhook.cli.cases import parse_cases
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.kubernetes import LINE
from webhook.library.apiserver import stored_object
from webhook.library.review import ReviewedManifest, Stored, review
from webhook.manifests import documents
from webhook.policy import Profile

NAMESPACE = "offline"
NAME = "law"
LOADED = catalog.load()
# As the gate of the end-to-end tests: it sees no other objects there.
OPTIONS = Options(profile=Profile.STRICT, strict_fields=True, references=False)

UID = "0d4b8c2e-6f0e-4c51-9a44-3a0fb1c0a111"
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": UID}
TEXTS = ("", "a", "Bad_Name", "a b", "a.b", "-a", "ä", "a\nb", "a\ud800", "x" * 64, "x" * 254, "a/b", "a/b/c", "../a")
ODD = (
    None,
    True,
    0,
    -1,
    1.5,
    2**63,
    "",
    "a",
    "1Gi",
    [],
    {},
    [None],
    {"": None},
    ["a"],
    {"a": "b"},
    "a\ud800",
    "x" * 300,
)
TIMES = ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00.5+01:00", "yesterday", "", 5, None)
OWNERS = (
    [OWNER],
    [OWNER, OWNER],
    [{**OWNER, "controller": True}, {**OWNER, "controller": True, "name": "other"}],
    [{**OWNER, "uid": ""}],
    [{**OWNER, "kind": "Event"}],
    [{**OWNER, "apiVersion": "a/b/c"}],
    [{**OWNER, "controller": "yes"}],
    [{**OWNER, "colour": "red"}],
    [{"name": "owner"}],
    [None],
    [],
    {},
)
FINALIZERS = ([], ["a.b/c"], ["no-slash"], ["a b"], ["orphan", "foregroundDeletion"], [""], [None], ["a/b", "a/b"], "a")
METADATA: dict[str, Sequence[Any]] = {
    "name": (*TEXTS, None, 5),
    "generateName": (*TEXTS, "law-", None, 5),
    "namespace": (None, "", 5, NAMESPACE, "Bad_NS", "a.b"),
    "labels": (None, [], {}, *({"a": text} for text in TEXTS), *({text: "a"} for text in TEXTS), {"a": None}, {"a": 5}),
    "annotations": (None, [], {}, *({text: "a"} for text in TEXTS), {"a": None}, {"a": 5}, {"a": "x" * 262144}),
    "finalizers": (None, *FINALIZERS),
    "ownerReferences": (None, *OWNERS),
    "uid": (None, UID, "", 5),
    "generation": (None, 0, 7, -1, "7", 1.5),
    "creationTimestamp": TIMES,
    "deletionTimestamp": TIMES,
    "deletionGracePeriodSeconds": (None, 0, 30, -1, "30"),
    "managedFields": (None, [], [{}], [None], {}, [{"manager": "m", "operation": "Update", "time": "never"}]),
    "selfLink": (None, "/a", 5),
    "colour": (None, "red", {}),
}
"""The fields of ObjectMeta, and one that it does not have, each with its values."""


@dataclass(frozen=True)
class Case:
    """A mutated object, and the stored object that it updates, or None for a creation."""

    number: int
    known: KnownKind
    written: Object
    stored: Object | None


@dataclass(frozen=True)
class Law:
    """A namespace of a cluster with a stored object of each kind."""

    client: Client
    stored: dict[tuple[str, str], Object]

    def difference(self, number: int) -> str:
        """How `check` and the API server differ about a case; "" if they agree."""
        case = mutated(number, self.stored)
        outcome = offline(case)
        reply = self.ask(case)
        found = _difference(case, outcome, reply)
        if not found:
            return ""
        operation = "CREATE" if case.stored is None else "UPDATE"
        return f"case {number}: {operation} {json.dumps(case.written)[:1500]}\n  {found}"

    def ask(self, case: Case) -> Reply:
        """The answer of a strict dry run, as kubectl asks for it."""
        metadata = case.written.get("metadata")
        given = metadata.get("namespace") if isinstance(metadata, dict) else None
        namespace = given if isinstance(given, str) and given else NAMESPACE
        within = f"/namespaces/{quote(namespace, safe='')}" if case.known.namespaced else ""
        gvk = case.known.gvk
        path = f"/apis/{gvk.group}/{gvk.version}{within}/{case.known.plural}"
        query = "?dryRun=All&fieldValidation=Strict"
        if case.stored is None:
            return self.client.ask("POST", f"{path}{query}", case.written)
        headers = {"Content-Type": "application/merge-patch+json"}
        return self.client.ask("PATCH", f"{path}/{NAME}{query}&fieldManager=law", case.written, headers)


def group_kind(api_version: str, kind: str) -> tuple[str, str]:
    """What names a kind: two APIs have an InferenceService."""
    return group_version(api_version)[0], kind


def bases() -> dict[tuple[str, str], list[Object]]:
    """Specifications of each kind that the gate accepts or refuses: of the rows, and of the cases of the rules."""
    found: dict[tuple[str, str], list[Object]] = {group_kind(row.apiVersion, row.kind): [row.spec] for row in KINDS}
    for file in sorted(ROOT.glob("policies/*/cases/*.yaml")):
        for document in documents.read(file):
            tables = parse_cases(document)
            for case in tables.cases:
                spec = case.object.get("spec") if case.object else case.spec
                if isinstance(spec, dict):
                    found[tables.target.group, tables.target.kind].append(spec)
    return found


BASES = bases()


def mutated(number: int, stored: dict[tuple[str, str], Object]) -> Case:
    """Case ``number``: an object of any kind with up to three changes."""
    dice = random.Random(number)
    row = dice.choice(KINDS)
    known = LOADED.find(GroupVersionKind(*group_version(row.apiVersion), row.kind))
    assert known is not None
    updates = dice.random() < 0.3
    obj = {
        **row.object(NAME if updates else "new"),
        "spec": deepcopy(dice.choice(BASES[group_kind(row.apiVersion, row.kind)])),
    }
    for _ in range(dice.choice((1, 1, 2, 3))):
        if dice.random() < 0.5:
            change_metadata(obj, dice, updates=updates)
        else:
            change_body(obj, dice)
    return Case(number, known, obj, stored[group_kind(row.apiVersion, row.kind)] if updates else None)


def change_metadata(obj: Object, dice: random.Random, *, updates: bool) -> None:
    if dice.random() < 0.03 and not updates:
        obj["metadata"] = dice.choice((None, [], "a", {}))
        return
    fields = [name for name in METADATA if not (updates and name in {"name", "generateName", "namespace"})]
    name = dice.choice(fields)
    value = deepcopy(dice.choice(METADATA[name]))
    if isinstance(obj["metadata"], dict):
        obj["metadata"][name] = value
        if name == "generateName" and dice.random() < 0.8:
            obj["metadata"].pop("name", None)


def change_body(obj: Object, dice: random.Random) -> None:
    """Replace, remove, add or null a value in the specification or beside it."""
    body = {key: value for key, value in obj.items() if key not in {"apiVersion", "kind", "metadata"}}
    parent, key = dice.choice(places(body))
    change = dice.choice(("replace", "null", "null", "remove", "add", "number"))
    if change == "remove":
        del parent[key]
    elif change == "add" and isinstance(parent, dict):
        parent[dice.choice(("colour", "", "name", "x" * 300))] = deepcopy(dice.choice(ODD))
    elif change == "null":
        parent[key] = None
    elif change == "number":
        parent[key] = dice.choice((0, -1, 1, 1.0, 10**9, 2**31, 0.5, 1e30))
    else:
        parent[key] = deepcopy(dice.choice(ODD))
    for name in [name for name in obj if name not in {"apiVersion", "kind", "metadata"}]:
        del obj[name]
    obj.update(body)


def offline(case: Case) -> ReviewedManifest:
    """The review of the case's file."""
    (document,) = documents.parse(json.dumps(case.written), "law.json")
    there = Stored()
    if case.stored is not None:
        gvk, metadata = case.known.gvk, case.stored["metadata"]
        key = (gvk.group, gvk.kind, metadata.get("namespace", ""), NAME)
        there = Stored({key: stored_object(case.stored, case.known)})
    if case.known.namespaced and isinstance(document.value.get("metadata"), dict | None):
        metadata = document.value.get("metadata") or {}
        if not metadata.get("namespace"):  # kubectl --namespace
            document.value["metadata"] = {**metadata, "namespace": NAMESPACE}
    return review(document, LOADED, MemoryView(), OPTIONS, there)


def _difference(case: Case, outcome: ReviewedManifest, reply: Reply) -> str:
    causes = outcome.validation.causes
    said = [str(cause) for cause in causes]
    if reply.accepted:
        if causes:
            return f"check refuses, the API server accepts: {said}"
        return differs(outcome.mutation.object or {}, reply.body)
    if not causes:
        return f"check accepts, the API server refuses ({reply.code}): {reply.body['message'][:800]}"
    if reply.code == 404 and reply.body["details"]["kind"] == "namespaces":
        return ""
    missing, extra = _compared(causes, reply)
    missing = [each for each in missing if not _of_generated_name(case, each)]
    if not missing and not extra:
        return ""
    return f"causes: API server only {missing}; check only {extra} ({reply.code} {reply.body['message'][:300]})"


def _of_generated_name(case: Case, cause: tuple[str, str]) -> bool:
    return cause[0] == "metadata.name" and not case.written["metadata"].get("name")


NOT_RUN = "some validation rules were not checked"


def _compared(causes: Sequence[Cause], reply: Reply) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The causes that only the API server has, and those of its stage that only `check` has."""
    message = reply.body["message"]
    found = reply.body.get("details", {}).get("causes", ())
    theirs = {_worded(each.get("field", ""), each["message"]) for each in found}
    ours = {_worded(each.field, each.text) for each in causes}
    if "strict decoding error" in message:
        unknown = {(field, "unknown field") for field in _unknown(message)}
        return sorted(unknown - {(field, text.split(";")[0]) for field, text in ours}), []
    if reply.code == 400 or {field for field, _ in theirs} == {"patch"}:
        # What is said after "into" differs with the release of Go.
        texts = (each.text.removeprefix("Invalid value: ").split(" into ")[0] for each in causes)
        text = next((text for text in texts if text in message), "")
        return ([] if text else [("", message)]), []
    if "admission webhook" in message:
        return sorted(theirs - ours), sorted(ours - theirs)
    schema = [each for each in causes if each.label == "schema" and "unknown field" not in each.text]
    nameless = {message for field, message in theirs if field == "<nil>"}
    stage = {_of_api_server(each, nameless) for each in schema}
    left_out = {each for each in theirs if NOT_RUN in each[1]}
    long, short = theirs - stage - left_out, stage - theirs
    for said_in_full in sorted(filter(_is_shortened, long)):
        shorter = next((each for each in sorted(short) if _says_less(each, said_in_full)), None)
        if shorter is not None:
            long.remove(said_in_full)
            short.remove(shorter)
    return sorted(long), [] if left_out else sorted(short)


def _is_shortened(cause: tuple[str, str]) -> bool:
    """Whether `check` has words of its own for what the API server says: it is long, or quotes a pattern."""
    return len(cause[1]) > LINE or " should match '" in cause[1]


def _says_less(ours: tuple[str, str], theirs: tuple[str, str]) -> bool:
    """Whether it is the same reason, at the same field if the API server names one."""
    return theirs[0] in {"<nil>", ours[0]} and ours[1].split(":")[0] == theirs[1].split(":")[0]


def _of_api_server(cause: Cause, nameless: set[str]) -> tuple[str, str]:
    """A cause of the schema as the API server has it: without explanations, and without a field if it names none."""
    text = replace(cause, hints=()).text
    return _worded("<nil>" if text in nameless else cause.field, text)


def _worded(field: str, message: str) -> tuple[str, str]:
    """A cause as it is compared."""
    owners = field.startswith("metadata.ownerReferences") and "unknown field" not in message
    if field.startswith("metadata.") and "unknown field" not in message:
        return ("metadata.ownerReferences" if owners else field), ""  # `check` says what to write, in words of its own
    return field, message


def _unknown(message: str) -> list[str]:
    return [json.loads(text) for text in re.findall(r'unknown field ("(?:[^"\\]|\\.)*")', message)]


ASSIGNED = frozenset({"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "namespace"})


def differs(ours: Object, theirs: Object) -> str:
    """How two objects differ, but for what the API server assigns; "" if they do not."""
    mine, stored = (_comparable(each) for each in (ours, theirs))
    if "generateName" in stored["metadata"] and "name" not in mine["metadata"]:
        del stored["metadata"]["name"]
    if _is_timed(stored):
        for each in (mine, stored):
            each["spec"].pop("createdAt", None)
            stamp = json.loads(each["metadata"]["annotations"].pop(ANNOTATION))
            stamp["defaulted"].pop("spec.createdAt", None)
            each["stamp"] = {key: value for key, value in stamp.items() if key != "spec"}
    return "" if mine == stored else f"objects: check {json.dumps(mine)}\n           stored {json.dumps(stored)}"


def _comparable(obj: Object) -> Object:
    metadata = {key: value for key, value in obj["metadata"].items() if key not in ASSIGNED}
    return {**deepcopy(obj), "metadata": deepcopy(metadata)}


def _is_timed(obj: Object) -> bool:
    return '"spec.createdAt"' in obj["metadata"].get("annotations", {}).get(ANNOTATION, "")


@contextlib.contextmanager
def law(plane: Plane) -> Iterator[Law]:
    """The law in a plane with a gate."""
    plane.kubectl("create", "namespace", NAMESPACE)
    kubectl = plane.kubectl.within(NAMESPACE)
    try:
        stored = {group_kind(row.apiVersion, row.kind): kubectl.send("create", row.object(NAME)) for row in KINDS}
        with connected(plane.kubeconfig) as client:
            yield Law(client, stored)
    finally:
        for row in KINDS:
            kubectl("delete", row.resource, NAME, "--ignore-not-found", "--wait=false")
        plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def differences(under: Law, numbers: Sequence[int]) -> Iterator[str]:
    return filter(None, map(under.difference, numbers))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.offline", description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=3000, help="how many objects")
    parser.add_argument("--first", type=int, default=0, help="the first case")
    options = parser.parse_args()
    found = 0
    with Plane(assets("plane")) as plane:
        install_crds(plane.kubectl)
        with Gate(plane), law(plane) as under:
            for text in differences(under, range(options.first, options.first + options.n)):
                found += 1
                print(text, flush=True)
    print(f"{options.n} objects, {found} differences")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
