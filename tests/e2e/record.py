"""The AdmissionReviews that a real API server sends for a Model, recorded once: ``python -m tests.e2e.record``.

Each step of ``STEPS`` is one thing a user does; its two reviews (to the mutating and to the validating webhook) become
``tests/fixtures/reviews/<step>.json``. What differs from run to run (uids, times, resource versions) is made stable.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.e2e.assets import Assets, assets
from tests.e2e.crds import install_crds
from tests.e2e.kubectl import WITH_OPENAPI, Kubectl, Object
from tests.e2e.machine import Unavailable
from tests.e2e.models import FINALIZER, model, with_vendor
from tests.e2e.plane import Plane
from tests.e2e.processes import wait_until
from tests.e2e.recorder import Recorder

FIXTURES = Path(__file__).parents[1] / "fixtures" / "reviews"
NAMESPACE = "models"

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIMES = {"creationTimestamp", "deletionTimestamp", "time"}
A_TIME = "2026-01-01T00:00:00Z"

Step = Callable[[Kubectl], object]

ON_NVIDIA = {name: with_vendor(model(name), "nvidia") for name in ("created", "applied", "ssa")}


# In order: each finds what those before it left.
STEPS: dict[str, Step] = {
    "create": lambda kubectl: kubectl.send("create", model("created")),
    "create-dry-run": lambda kubectl: kubectl.send("create", model("dry"), "--dry-run=server"),
    "update": lambda kubectl: kubectl.send("replace", ON_NVIDIA["created"]),
    "update-dry-run": lambda kubectl: kubectl.send("replace", model("created"), "--dry-run=server"),
    "merge-patch": lambda kubectl: kubectl.patch("models", "created", {"spec": {"quantization": "Q4_K_M"}}),
    "label": lambda kubectl: kubectl("label", "models", "created", "team=blue"),
    "status-update": lambda kubectl: kubectl.patch(
        "models", "created", {"status": {"phase": "Pending"}}, "--subresource=status"
    ),
    "apply-create": lambda kubectl: kubectl.send("apply", model("applied")),
    "apply-update": lambda kubectl: kubectl.send("apply", ON_NVIDIA["applied"], WITH_OPENAPI),
    "server-side-apply-create": lambda kubectl: kubectl.send("apply", model("ssa"), "--server-side"),
    "server-side-apply-update": lambda kubectl: kubectl.send("apply", ON_NVIDIA["ssa"], "--server-side"),
    "delete": lambda kubectl: kubectl("delete", "models", "created"),
    "delete-dry-run": lambda kubectl: kubectl("delete", "models", "applied", "--dry-run=server"),
    "create-with-finalizer": lambda kubectl: kubectl.send("create", model("kept", finalizers=[FINALIZER])),
    "delete-with-finalizer": lambda kubectl: kubectl("delete", "models", "kept", "--wait=false"),
    "finalizer-removal": lambda kubectl: kubectl.patch("models", "kept", {"metadata": {"finalizers": None}}),
    "delete-another": lambda kubectl: kubectl("delete", "models", "ssa"),
    "deletecollection": lambda kubectl: kubectl(
        "delete", "--raw", f"/apis/inference.llmkube.dev/v1alpha1/namespaces/{NAMESPACE}/models"
    ),
}


def recordings(assets: Assets) -> Iterator[tuple[str, Object]]:
    """Do every step; yields its name and ``{"mutate": review, "validate": review}``, made stable.

    On a separate plane, where nothing else changes the objects.
    """
    with tempfile.TemporaryDirectory() as folder, Plane(assets) as plane, Recorder(Path(folder)) as recorder:
        install_crds(plane.kubectl, "llmkube")
        plane.kubectl("create", "namespace", NAMESPACE)
        plane.kubectl.send_all("create", recorder.configurations())
        kubectl = plane.kubectl.within(NAMESPACE)
        wait_until(lambda: is_recording(kubectl, recorder), "the API server to call the recorder")
        for name, step in STEPS.items():
            step(kubectl)
            yield name, pair(recorder.take())


def is_recording(kubectl: Kubectl, recorder: Recorder) -> bool:
    kubectl.send("create", model("probe"), "--dry-run=server")
    return {path for path, _ in recorder.take()} == {"mutate", "validate"}


def pair(reviews: list[tuple[str, Object]]) -> Object:
    """The two reviews of one step. Raises AssertionError if it caused more, or fewer."""
    assert [path for path, _ in reviews] == ["mutate", "validate"], reviews
    return {path: stable(review) for path, review in reviews}


def stable(review: Object) -> Object:
    """The review with uids and resource versions numbered as they first occur, and one time for all times.

    ``managedFields`` come in the order of their seconds, which depends on how fast we were: here by manager.
    """
    uids: dict[str, str] = {}
    versions: dict[str, str] = {}

    def walk(value: Any, key: str = "") -> Any:
        match value:
            case dict():
                return {name: walk(child, name) for name, child in value.items()}
            case list():
                children = sorted(value, key=manager) if key == "managedFields" else value
                return [walk(child) for child in children]
            case str() if key == "uid" and UUID.fullmatch(value):
                return uids.setdefault(value, f"00000000-0000-4000-8000-{len(uids) + 1:012}")
            case str() if key == "resourceVersion":
                return versions.setdefault(value, str(len(versions) + 1))
            case str() if key in TIMES:
                return A_TIME
        return value

    return walk(review)


def manager(entry: Object) -> tuple[str, str, str]:
    return entry["manager"], entry["operation"], entry.get("subresource", "")


def written(reviews: Object) -> str:
    return json.dumps(reviews, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def main() -> None:
    for old in FIXTURES.glob("*.json"):
        old.unlink()
    for name, reviews in recordings(assets("plane")):
        (FIXTURES / f"{name}.json").write_text(written(reviews))
        print(name)


if __name__ == "__main__":
    try:
        main()
    except Unavailable as reason:
        sys.exit(f"record: {reason}")
