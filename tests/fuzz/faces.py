"""Every face gives the verdict that the server gives: ``python -m tests.fuzz.faces -n 2000``.

The objects are those of the cases of packs, built-in and users', changed at random, and ConfigMaps; created, or
updates of a stored object. Each is sent to the application of `serve`, to `Gate.admit`, to `Gate.check` and to
`modelgate check`, under the same packs and admission policies and beside the same objects. Compared are the replies of
the first two, and the verdict and the labels of all. What the API server refuses before it asks a webhook is left to
the last two.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import io
import itertools
import json
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest.mock import patch as patched

import jsonpatch
from starlette.testclient import TestClient

import modelgate
from tests.engine.test_screen import mutant
from tests.shared import ROOT
from webhook import catalog
from webhook.admission import GroupVersionKind, group_version
from webhook.catalog import Catalog, KnownKind
from webhook.cli.cases import written
from webhook.cli.pack.checking import cases_of
from webhook.cli.shell.running import run as command_line
from webhook.cluster import MemoryView
from webhook.engine import Options, policyset
from webhook.facts.settings import DEFAULT_SETTINGS, Settings
from webhook.library.apiserver import applied, metadata_causes, receive, replicas_causes
from webhook.library.review import in_cluster
from webhook.library.rulings import Rulings
from webhook.manifests.documents import Document
from webhook.policy import Profile
from webhook.serve.app import application
from webhook.serve.gate import Gate

POLICIES: Final = Path(__file__).parent / "admission"
PROFILES: Final = (Profile.STANDARD, Profile.STRICT)
UNKNOWN: Final = "unknown field"
CONFIG_MAP: Final = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "case", "namespace": "default"}}

ELSEWHERE: Final = {**CONFIG_MAP, "metadata": {"name": "elsewhere", "namespace": "elsewhere"}}
"""With an object in view, all that is missing does not exist."""
WITHOUT_CODE: Final = frozenset({"unstamped", "schema", "unknown-field"})
_WITH_CODE: Final = re.compile(r"\((?P<code>[A-Z]{2}[0-9]{3})\)$")
_OMITTED: Final = "more errors are omitted"
"""What the last cause of a long refusal says, which has no field."""
_OF_POLICY: Final = re.compile(r"[Pp]olicy '(?P<name>[^']+)' with binding")

Object = dict[str, Any]


class Sample(NamedTuple):
    """An object to send, what is stored under its name (None: nothing), the other objects, and the profile."""

    obj: Object
    stored: Object | None
    others: Sequence[Object]
    profile: Profile


class Said(NamedTuple):
    """What a face says: whether the object is stored, and the labels of what refuses it and of what warns of it.

    A label is the name of a policy, the field of a refusal or the code of a warning.
    """

    allowed: bool
    refusals: frozenset[str]
    warnings: frozenset[str]

    @classmethod
    def of(cls, allowed: bool, findings: Iterable[tuple[str, str, str, str]]) -> Said:
        """What findings say: of each the severity, the code, the policy and the field."""
        rows = list(findings)
        refusals = (policy or at for severity, _, policy, at in rows if severity == "error")
        codes = (policy or code for severity, code, policy, _ in rows if severity == "warning")
        return cls(allowed, frozenset(refusals), frozenset(code for code in codes if code not in WITHOUT_CODE))

    def agrees(self, other: Said) -> bool:
        """Whether another face says the same of an object, or less: a command leaves out the consequences of a fault,
        and a reply cuts long warnings and counts the refusals that it has no room for.
        """
        same = (self.allowed, bool(self.refusals)) == (other.allowed, bool(other.refusals))
        return same and other.refusals <= self.refusals and other.warnings <= self.warnings


@dataclass
class Result:
    """What was compared: numbers of objects by what the server said, and of the differences their texts."""

    counts: Counter[str] = field(default_factory=Counter)
    different: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        counts = ", ".join(f"{number} {name}" for name, number in sorted(self.counts.items()))
        return "\n  ".join([f"{counts}; {len(self.different)} different", *self.different[:10]])


def bases(loaded: Catalog) -> list[tuple[KnownKind, Object, Sequence[Object]]]:
    """The objects of the cases of all packs, each with the objects beside it."""
    return [
        (each.known, written(each.case, each.known), each.case.others)
        for pack in loaded.packs.values()
        for each in cases_of(pack, loaded)
        if each.case.release is None
        and written(each.case, each.known)["metadata"].get("namespace") in {None, "default"}
    ]


def samples(loaded: Catalog, seed: int) -> Iterator[Sample]:
    """Objects without end; the same ones for the same seed."""
    given, dice = bases(loaded), random.Random(seed)
    kinds = sorted({str(known.gvk) for known, *_ in given})
    by_kind = {name: [each for each in given if str(each[0].gvk) == name] for name in kinds}
    while True:
        _, obj, others = dice.choice(by_kind[dice.choice(kinds)])
        if dice.random() < 0.1:
            obj, others = {**CONFIG_MAP, "data": {"a": dice.choice("bc")}}, ()
        changed = deepcopy(obj)
        if dice.random() < 0.2:
            changed["metadata"]["labels"] = {**(changed["metadata"].get("labels") or {}), "refused": ""}
        for _ in range(dice.choice((0, 1, 1, 2, 3)) if "spec" in obj else 0):
            changed = mutant(changed, dice)
        stored = obj if dice.random() < 0.3 and obj["metadata"].get("name") else None
        others = [each for each in others if _name(each) != _name(obj)]  # else it would be stored
        yield Sample(changed, stored, others, dice.choice(PROFILES))


def _name(obj: Object) -> tuple[Any, ...]:
    metadata = obj["metadata"]
    return obj["apiVersion"], obj["kind"], metadata.get("namespace"), metadata.get("name")


class Faces:
    """All faces of a set of packs, beside the same admission policies."""

    def __init__(self, packs: Sequence[Path], folder: Path) -> None:
        self.packs, self._file = packs, folder / "manifest.json"
        self._view, self._folder = folder / "view.json", folder
        self.loaded = catalog.load(packs=packs)
        self._policies = policyset.load(POLICIES)
        self._gate = Gate(self.loaded, policies=self._policies)
        self._client = TestClient(application(self._gate))

    def difference(self, sample: Sample, counts: Counter[str]) -> str:
        """How the faces differ about a sample; "" if they agree."""
        there = [ELSEWHERE, *sample.others, *([sample.stored] if sample.stored else [])]
        gate = modelgate.Gate(
            view=there, policies=self.packs, admission_policies=POLICIES, profile=sample.profile.value, complete=True
        )
        verdict = gate.check(sample.obj)
        findings = ((str(each.severity), each.code, each.policy, each.field) for each in verdict.findings)
        checked = Said.of(verdict.allowed, findings)
        said = {"modelgate check": self._command(sample, there)}
        review = self._review(sample)
        if review is not None and not any(UNKNOWN in each.message for each in verdict.findings):
            view = list(in_cluster((Document("", 1, each) for each in there), self.loaded))
            self._gate.replace(view=MemoryView(view), options=Options(sample.profile))
            asked = self._served(review), _admitted(gate, review)
            if asked[0] != asked[1]:
                return f"serve {asked[0]}, Gate.admit {asked[1]}"
            said["serve"] = _said(asked[0][-1])
            counts["served"] += 1
            counts["with the same labels"] += said["serve"] == checked
        counts["allowed" if verdict.allowed else "refused"] += 1
        counts["by policies"] += any(each.policy for each in verdict.findings)
        return "" if all(map(checked.agrees, said.values())) else f"Gate.check {checked}, {said}"

    def _review(self, sample: Sample) -> Object | None:
        """The review that the API server sends; None if it refuses the object itself."""
        gvk = GroupVersionKind(*group_version(sample.obj["apiVersion"]), sample.obj["kind"])
        known, old = self.loaded.find(gvk), None
        if sample.stored is not None:
            (old,) = in_cluster([Document("", 1, sample.stored)], self.loaded)
        received = receive(applied(old, sample.obj) if old else sample.obj, known, old)
        metadata = received.object["metadata"]
        if [*received.causes, *metadata_causes(received.object, known, old), *replicas_causes(received.object, known)]:
            return None
        plural = known.plural if known else "configmaps"
        api = {"group": gvk.group, "version": gvk.version}
        request = {
            "uid": "1",
            "kind": {**api, "kind": gvk.kind},
            "resource": {**api, "resource": plural},
            "operation": "UPDATE" if old else "CREATE",
            "name": metadata.get("name", ""),
            "namespace": metadata.get("namespace", ""),
            "object": received.object,
            "oldObject": old,
            "userInfo": {},
        }
        return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}

    def _served(self, review: Object) -> Sequence[Object]:
        def ask(call: str, body: bytes) -> Any:
            answer = self._client.post(
                f"/{call}?timeout=30s", content=body, headers={"Content-Type": "application/json"}
            )
            return answer.json() if answer.status_code == HTTPStatus.OK else {"response": {"error": answer.text}}

        return _both(review, ask)

    def _command(self, sample: Sample, there: Sequence[Object]) -> Said:
        """What `modelgate check` says of a file with the object."""
        self._file.write_text(json.dumps(sample.obj))
        self._view.write_text("\n---\n".join(map(json.dumps, there)))
        packs = [f"--policies={each}" for each in self.packs]
        flags = [f"--profile={sample.profile.value}", f"--admission-policies={POLICIES}", f"--view={self._view}"]
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
            command_line(["check", "-o", "json", *flags, *packs, str(self._file)])
        (verdict,) = json.loads(output.getvalue())["objects"]
        findings = (
            (each["severity"], each["code"], each.get("policy", ""), each["field"]) for each in verdict["findings"]
        )
        return Said.of(verdict["verdict"] != "refused", findings)


def _both(review: Object, ask: Any) -> Sequence[Object]:
    """The replies to both calls: the validation is of the object that the mutation has made."""
    mutated = _plain(ask("mutate", json.dumps(review).encode()))
    if not mutated.get("allowed"):
        return [mutated]
    operations = json.loads(base64.b64decode(mutated.get("patch", b"W10=")))
    obj = jsonpatch.apply_patch(review["request"]["object"], operations)
    validated = {**review, "request": {**review["request"], "object": obj}}
    return [mutated, _plain(ask("validate", json.dumps(validated).encode()))]


def _admitted(gate: modelgate.Gate, review: Object) -> Sequence[Object]:
    def ask(call: str, body: bytes) -> Any:
        try:
            return json.loads(gate.admit(body, mutating=call == "mutate"))
        except modelgate.ModelgateError as error:
            return {"response": {"error": str(error)}}

    return _both(review, ask)


def _plain(reply: Object) -> Object:
    """A reply without the annotations for the audit log: only the server writes the number of its log line there."""
    return {key: value for key, value in reply["response"].items() if key != "auditAnnotations"}


def _said(reply: Object) -> Said:
    """What a reply to a validation says."""
    status = reply.get("status", {})
    given = [(each["field"], each["message"]) for each in status.get("details", {}).get("causes", ())]
    causes = [(at, text) for at, text in given if at or _OMITTED not in text]
    if status and not causes:
        causes = [("", status["message"])]
    refusals = {_policy(text) or at for at, text in causes}
    warnings = {_policy(text) or _code(text) for text in reply.get("warnings", ())} - {""}
    return Said(reply["allowed"], frozenset(refusals), frozenset(warnings))


def _policy(text: str) -> str:
    named = _OF_POLICY.search(text)
    return named["name"] if named else ""


def _code(text: str) -> str:
    named = _WITH_CODE.search(text)
    return named["code"] if named else ""


def compare(packs: Sequence[Path], count: int, seed: int) -> Result:
    """Send random objects through all faces. Each set of packs is loaded once."""
    result, load = Result(), cache(catalog.load)

    def load_once(settings: Settings = DEFAULT_SETTINGS, packs: Iterable[Path] = ()) -> Catalog:
        return load(settings=settings, packs=tuple(packs))

    by_release = patched.object(Rulings, "_shape", lambda *_: None)  # a cluster knows its release, files may not
    with tempfile.TemporaryDirectory() as folder, by_release, patched.object(catalog, "load", load_once):
        faces = Faces(packs, Path(folder))
        for sample in itertools.islice(samples(faces.loaded, seed), count):
            if difference := faces.difference(sample, result.counts):
                result.different.append(f"{json.dumps(sample.obj)} before {json.dumps(sample.stored)}: {difference}")
    return result


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.faces", description=__doc__)
    parser.add_argument("-n", type=int, default=2000, help="how many objects")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--packs", type=Path, nargs="*", default=sorted((ROOT / "packs").iterdir()))
    options = parser.parse_args(argv)
    result = compare(options.packs, options.n, options.seed)
    print(result)
    return bool(result.different)


if __name__ == "__main__":
    sys.exit(main())
