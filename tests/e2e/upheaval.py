"""Upheavals while the reconciler works through many objects: whatever happens, the end is the same.

Two reconcilers act for Models and AIM's caches. While they work on a batch of objects, the leader is killed, or frozen
and thawed, or its lease is deleted, or etcd and the API server are killed and started again. After each, every object
of the batch must get its verdict and status, each cache one volume claim, and each bad object one report and one Event.

    MODELGATE_E2E=require python -m tests.e2e.upheaval -n 2000
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from reconciler.projections.llmkube import MODELS
from reconciler.resource import APIResource
from reconciler.writer import ApiError, Writer
from tests.e2e.assets import assets
from tests.e2e.crds import install_crds
from tests.e2e.gate import NAMESPACE, Gate
from tests.e2e.kinds import KINDS
from tests.e2e.kubectl import Object
from tests.e2e.models import bad_model, model
from tests.e2e.plane import Plane
from tests.e2e.processes import wait_until
from tests.e2e.reconciling import ACCOUNT, Reconciler, condition
from webhook.cluster.connection import connect

__all__ = ["UPHEAVALS", "Trial", "reconcilers"]

FLAGS = ("--profile=strict", "--apis=llmkube,aim")
SETS = ("reconciler.apis.llmkube=true", "reconciler.apis.aim=true", "reconciler.namespaces={*}")

TAKEOVER = 20.0
"""Seconds until another process leads: the lease's 15, the pause between two attempts, and reading the cluster."""

PATIENCE = 180.0
"""Seconds for a batch."""

CACHES = APIResource("aim.silogen.ai", "v1alpha1", "aimmodelcaches", "AIMModelCache")
CLAIMS = APIResource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
EVENTS = APIResource("", "v1", "events", "Event")
REPORTS = APIResource("openreports.io", "v1alpha1", "reports", "Report")


@contextmanager
def reconcilers(plane: Plane) -> Iterator[list[Reconciler]]:
    """Two of them, of which one leads."""
    made = [Reconciler(plane, *FLAGS, sets=SETS, name=name) for name in ("first", "second")]
    with made[0], made[1]:
        yield made


class Trial:
    """Batches of ``size`` objects in a namespace: of each ten, seven good Models, a bad one and two caches."""

    def __init__(self, plane: Plane, gate: Gate, both: list[Reconciler], namespace: str, size: int) -> None:
        self.plane = plane
        self.gate = gate
        self.both = both
        self._namespace = namespace
        self._size = size
        self._api = Writer(connect(plane.kubeconfig))
        self._claims: dict[str, str] = {}  # name → UID, as first seen
        self._made = 0

    def leader(self) -> Reconciler:
        def leading() -> Reconciler | None:
            return next((each for each in self.both if each.metric("modelgate_leader") == 1), None)

        return wait_until(leading, "a leader", PATIENCE)

    def other(self, one: Reconciler) -> Reconciler:
        return next(each for each in self.both if each is not one)

    def batch(self, upheaval: Callable[[Trial], float | None]) -> float | None:
        """Create objects, cause the upheaval while they are worked on, and check the end state.

        Returns the seconds until another process led, if the upheaval was about that.
        """
        start, self._made = self._made, self._made + self._size
        with self.gate.absent(), ThreadPoolExecutor(8) as pool:  # so that every good one is healed
            list(pool.map(self._create, range(start, self._made)))
        wait_until(lambda: sum(map(_is_final, self._objects())) > start, "work to begin", PATIENCE)
        took = upheaval(self)
        wait_until(self._finished, f"{self._made} objects to be done", PATIENCE)
        self._check()
        return took

    def _create(self, number: int) -> None:
        row = next(each for each in KINDS if each.kind == "AIMModelCache")
        resource, obj = MODELS, model(f"m-{number}")
        if number % 10 == 0:
            obj = bad_model(f"m-{number}")
        elif number % 10 > 7:
            resource, obj = CACHES, row.object(f"c-{number}", {"sourceUri": f"hf://org/m-{number}"})
        obj["metadata"]["namespace"] = self._namespace
        self._api.create(resource, obj)

    def _all(self, resource: APIResource) -> list[Object]:
        return [each for page in self._api.pages(resource, self._namespace) for each in page.get("items") or ()]

    def _objects(self) -> list[Object]:
        return [*self._all(MODELS), *self._all(CACHES)]

    def _finished(self) -> bool:
        """Whether every object has its final state."""
        try:
            found, claims = self._objects(), self._all(CLAIMS)
        except ApiError:  # the API server starts again
            return False
        for each in claims:
            self._claims.setdefault(each["metadata"]["name"], each["metadata"]["uid"])
        return len(found) == self._made and len(claims) == self._made // 5 and all(map(_is_final, found))

    def _check(self) -> None:
        """Nothing was done twice."""
        models, caches, claims = self._all(MODELS), self._all(CACHES), self._all(CLAIMS)
        bad = [each for each in models if condition(each, "Normalised")["reason"] == "Refused"]
        assert len(bad) == self._made // 10
        assert {each["metadata"]["generation"] for each in bad} == {1}
        assert {each["metadata"]["generation"] for each in models if each not in bad} == {2}
        assert {each["metadata"]["name"]: each["metadata"]["uid"] for each in claims} == self._claims
        owners = [each["metadata"]["ownerReferences"][0]["uid"] for each in claims]
        assert sorted(owners) == sorted(each["metadata"]["uid"] for each in caches)
        told = Counter(each["involvedObject"]["name"] for each in self._all(EVENTS) if each["reason"] == "Refused")
        wanted = Counter(each["metadata"]["name"] for each in bad)
        assert told == wanted, f"Events missing about {wanted - told}, too many about {told - wanted}"
        reported = [each["scope"]["uid"] for each in self._all(REPORTS)]
        assert len(reported) == len(set(reported))


def _is_final(obj: Object) -> bool:
    verdict = condition(obj, "Normalised")
    if int(obj["metadata"]["name"].partition("-")[2]) % 10 == 0:
        return verdict.get("reason") == "Refused"
    acted = "phase" if obj["kind"] == "Model" else "persistentVolumeClaim"
    return verdict.get("status") == "True" and acted in obj["status"]


def killed(trial: Trial) -> float:
    """The leader loses its power, and is started again later."""
    leader = trial.leader()
    started = time.monotonic()
    leader.kill()
    wait_until(lambda: trial.other(leader).metric("modelgate_leader") == 1, "the other to lead", TAKEOVER)
    took = time.monotonic() - started
    leader.start()
    return took


def frozen(trial: Trial) -> float:
    """The leader stands still until another leads. Then it goes on, and must end without a write."""
    leader = trial.leader()
    started = time.monotonic()
    os.killpg(leader.pid, signal.SIGSTOP)
    try:
        wait_until(lambda: trial.other(leader).metric("modelgate_leader") == 1, "the other to lead", TAKEOVER)
        took = time.monotonic() - started
    finally:
        os.killpg(leader.pid, signal.SIGCONT)
    wait_until(lambda: not leader.running(), "the thawed process to end")
    leader.start()
    return took


def without_lease(trial: Trial) -> None:
    """The lease is deleted: one of them makes it anew."""
    lease = trial.plane.kubectl.within(NAMESPACE)
    lease("delete", "lease", ACCOUNT)
    wait_until(lambda: lease.find("lease", ACCOUNT), "a new lease")


def restarted(trial: Trial) -> None:
    """The API server and etcd are killed and started again with the same data. A leader that cannot renew ends."""
    trial.plane.restart()
    for each in trial.both:
        if not each.running():
            each.start()


UPHEAVALS: dict[str, Callable[[Trial], float | None]] = {
    "leader killed": killed,
    "leader frozen and thawed": frozen,
    "lease deleted": without_lease,
    "API server and etcd restarted": restarted,
}


def main() -> None:
    """All upheavals, one after another, amid ``-n`` objects."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("-n", type=int, default=2000, help="objects in all (default 2000)")
    size = parser.parse_args().n // len(UPHEAVALS) // 10 * 10
    with ExitStack() as stack:
        plane = stack.enter_context(Plane(assets("plane")))
        install_crds(plane.kubectl)
        plane.kubectl("apply", "-f", str(Path(__file__).with_name("openreports.yaml")))
        gate = stack.enter_context(Gate(plane))
        both = stack.enter_context(reconcilers(plane))
        trial = Trial(plane, gate, both, "default", size)
        for name, upheaval in UPHEAVALS.items():
            started = time.monotonic()
            took = trial.batch(upheaval)
            over = "" if took is None else f", another led after {took:.1f} s"
            print(f"{name}: {size} more objects done after {time.monotonic() - started:.1f} s{over}", flush=True)
        for each in both:
            assert "Traceback" not in each.log()
    print("every object has its end state; no child, report or Event was made twice")


if __name__ == "__main__":
    main()
