"""What hostile callers do to good ones with large reviews, and reviews that policies make expensive do to all."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.hostile import bodies
from tests.hostile.attacks import attack, large
from tests.hostile.bars import Report
from tests.hostile.callers import TIMEOUT, Crowd
from tests.hostile.cgroup import memory_group
from tests.hostile.isolation import GRACE, good_body
from tests.hostile.serving import Gate, serving
from tests.hostile.wire import Answer, Caller, Target, post

PART: Final = "large"
POLICIES: Final = "policies"
FLOODS: Final = (4, 16, 40)
"""Hostile callers at once."""
TRIES: Final = 6
BEGIN_SECONDS: Final = 1.0
"""The flood runs so long before the good caller begins."""
WAITED: Final = 100.0
"""Milliseconds of a probe beside expensive reviews."""

EXPRESSION: Final = (
    "object.metadata.?annotations[?'a'].orValue('').split(',').all(x, "
    "object.metadata.?annotations[?'a'].orValue('').split(',').exists_one(y, y == x) || true)"
)
"""Cheap for most objects. A user chooses how many commas there are: it grows with the square of their number."""


def run(report: Report, seconds: float) -> None:
    """Both parts, each against a gate of its own."""
    crowd = Crowd()
    try:
        with memory_group() as group, serving(group=group) as gate:
            for flood in FLOODS:
                for name, body in floods().items():
                    _good_among(report, crowd, gate, name, body, flood)
        with tempfile.TemporaryDirectory() as folder, memory_group() as group:
            write_policies(Path(folder), 8)
            with serving("--admission-policies", folder, group=group) as gate:
                _beside_policies(report, crowd, gate, seconds)
    finally:
        crowd.close()


def of_user(body: bytes, user: str) -> bytes:
    """A review of the request of a user."""
    return body.replace(b'"username":"admin"', f'"username":"{user}"'.encode(), 1)


def good_large() -> bytes:
    """A good review with many files."""
    known = bodies.kinds()["Model"]
    obj = bodies.good(known)
    obj["spec"]["files"] = [f"a{number}.gguf" for number in range(6000)]
    return of_user(bodies.review(known, obj), "alice")


def padded() -> bytes:
    """A small review that is written with many blanks."""
    return good_body() + b" " * (bodies.FEW_BYTES + 1)


def expensive() -> bytes:
    """A small review that costs the policies seconds."""
    known = bodies.kinds()["Model"]
    obj = bodies.good(known)
    obj["metadata"]["annotations"] = {"a": ",".join(f"{number:x}" for number in range(600))}
    return bodies.review(known, obj)


def floods() -> dict[str, bytes]:
    """What hostile callers repeat, by its name."""
    wide = large(attack("InferenceService", "spec.engine.volumes", "empty texts"), "CREATE")[1]
    return {"blanks": of_user(padded(), "mallory"), "the most that is judged": of_user(wide, "mallory")}


def target_of(gate: Gate) -> Target:
    return Target(gate.port, str(gate.authority_file))


def _good_among(report: Report, crowd: Crowd, gate: Gate, name: str, body: bytes, flood: int) -> None:
    target = target_of(gate)
    seconds = BEGIN_SECONDS + TRIES * TIMEOUT
    hostile = crowd.hostile(target, "/validate", [body], seconds, flood)
    answers = asyncio.run(several(target, good_large(), BEGIN_SECONDS))
    hostile.result()
    what = f"a good large caller beside {flood} with {name}"
    report.add(PART, f"{what}: not answered, of {TRIES}", sum(each.status != 200 for each in answers), "", 0)
    report.add(PART, f"{what}: slowest", max(each.seconds for each in answers), "s", TIMEOUT)


async def several(target: Target, body: bytes, after: float) -> list[Answer]:
    """The answers to one review, one after the other."""
    await asyncio.sleep(after)
    async with Caller(target) as caller:
        return [await caller.ask(post(f"/validate?timeout={TIMEOUT}s", body)) for _ in range(TRIES)]


def _beside_policies(report: Report, crowd: Crowd, gate: Gate, seconds: float) -> None:
    target = target_of(gate)
    idle = crowd.good(target, good_body(), max(seconds, 3)).result()[0]
    hostile = crowd.hostile(target, "/validate", [of_user(expensive(), "mallory")], seconds)
    good, probes = crowd.good(target, good_body(), seconds).result()
    answered = hostile.result()
    report.add(POLICIES, "good callers beside expensive reviews, p99", good.p99, "ms", max(3 * idle.p99, 25.0))
    report.add(POLICIES, "good calls that failed", good.failed + probes.failed, "", 0)
    report.add(POLICIES, "/healthz beside expensive reviews, slowest", probes.most, "ms", WAITED)
    report.add(POLICIES, "expensive calls without a proper answer", answered.wrong, "", 0)
    report.add(POLICIES, "slowest expensive call", answered.slowest, "s", TIMEOUT + GRACE)


def write_policies(folder: Path, count: int) -> None:
    """Policies of four validations each, for all objects."""
    for index, document in enumerate(_policies(count)):
        (folder / f"{index}.json").write_text(json.dumps(document))


def _policies(count: int) -> Iterator[dict[str, Any]]:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": EXPRESSION}] * 4}
    for number in range(count):
        name = f"p{number}"
        head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": name}}
        yield {**head, "kind": "ValidatingAdmissionPolicy", "spec": spec}
        bound = {"policyName": name, "validationActions": ["Deny"]}
        yield {**head, "kind": "ValidatingAdmissionPolicyBinding", "spec": bound}
