"""A cluster as certificates see it: a Secret, webhook configurations, API servers that lag, replicas out of step.

Time stands still between calls. Whatever a replica asks of the API server may let time pass, let other replicas act, or
be the last thing that it does: the interleavings that a test on a real cluster would need luck for.
"""

from __future__ import annotations

import base64
import copy
import random
from collections import Counter
from datetime import timedelta
from functools import lru_cache

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from certs.errors import ApiServerError
from certs.issue import Leaf
from certs.keeper import Keeper
from certs.lifetimes import Lifetimes
from certs.publish import Configuration
from certs.store import SecretStore
from tests.certs.material import NOW, SERVICE

SECOND = timedelta(seconds=1)
LIFETIMES = Lifetimes()
BOTH = (Configuration("mutating", "gate"), Configuration("validating", "gate"))
SECRET = "/api/v1/namespaces/ns/secrets/ca"
PATIENCE = timedelta(minutes=2)


class Crash(BaseException):
    """The end of a process; nothing catches it."""


class World:
    """An API server in memory; ``refusals`` are the moments in which a client refused a leaf that was served."""

    def __init__(self, folder, replicas=1, seed=0, lags=(0, 29)):
        self.now, self.random = NOW, random.Random(seed)
        self.version = 0
        self.objects = {each.path: {"metadata": {}, "webhooks": [webhook()]} for each in BOTH}
        self.seen = {each.path: [(NOW, "")] for each in BOTH}
        self.lags = [timedelta(seconds=lag) for lag in lags]
        self.refusals, self.calls, self.checks = [], Counter(), 0
        self.happening = lambda _replica, _call: None
        self.replicas = [Replica(self, folder / str(number)) for number in range(replicas)]
        for path in list(self.objects):
            self._put(path, self.objects[path])

    def tick(self, duration):
        """Let time pass. In steps where clients are about to see something new, so that no moment is missed."""
        end = self.now + duration
        for moment in sorted({seen + lag for each in self.seen.values() for seen, _ in each for lag in self.lags}):
            if self.now < moment < end:
                self.now = moment
                self.check()
        self.now = end
        self.check()

    def look(self):
        for replica in self.random.sample(self.replicas, len(self.replicas)):
            replica.look()
            self.check()

    def check(self):
        """Whether each client trusts each leaf that is served, by its own view of each configuration."""
        for replica in self.replicas:
            for path in self.seen if replica.served else ():
                for lag in self.lags:
                    self.checks += 1
                    if complaint := verified(replica.served, self._view(path, lag), self.now):
                        self.refusals.append((self.now, replica.name, path, complaint))

    def trusted(self):
        return [len(x509.load_pem_x509_certificates(self.bundle(each.path))) for each in BOTH]

    def bundle(self, path):
        return base64.b64decode(self.objects[path]["webhooks"][0]["clientConfig"]["caBundle"])

    def _view(self, path, lag):
        return next(bundle for moment, bundle in reversed(self.seen[path]) if moment == NOW or moment + lag <= self.now)

    def get(self, path):
        if path not in self.objects:
            raise ApiServerError(404, f"GET {path}: not found")
        return copy.deepcopy(self.objects[path])

    def create(self, path, body):
        path = f"{path}/{body['metadata']['name']}"
        if path in self.objects:
            raise ApiServerError(409, f"POST {path}: it exists")
        return self._put(path, body)

    def replace(self, path, body):
        self._compare(path, body)
        return self._put(path, body)

    def apply(self, path, body, _manager):
        self._compare(path, body)
        return self._put(path, body)

    def _compare(self, path, body):
        if path not in self.objects:
            raise ApiServerError(404, f"PUT {path}: not found")
        if body["metadata"]["resourceVersion"] != self.objects[path]["metadata"]["resourceVersion"]:
            raise ApiServerError(409, f"PUT {path}: it has changed")

    def _put(self, path, body):
        self.version += 1
        stored = copy.deepcopy(body)
        stored["metadata"]["resourceVersion"] = str(self.version)
        self.objects[path] = stored
        if path in self.seen:
            older, recent = self.seen[path][:-2], self.seen[path][-2:]
            self.seen[path] = [each for each in older if each[0] > self.now - PATIENCE] + recent
            self.seen[path].append((self.now, stored["webhooks"][0]["clientConfig"]["caBundle"]))
        return stored


class Replica:
    """The sidecar and the server of one pod; also the API as that sidecar reaches it."""

    def __init__(self, world, folder):
        self.world, self.name, self.folder = world, folder.name, folder
        self.served = None
        self.keeper = Keeper(folder, SERVICE, SecretStore("ns", "ca", self), lambda: world.now, BOTH, self, LIFETIMES)

    def look(self):
        """One look. The server beside takes up a leaf when the look is over, even one that ended in a crash."""
        try:
            return self.keeper.look()
        except Crash:
            self.world.calls["crash"] += 1
        finally:
            leaf = Leaf.read(self.folder)
            self.served = leaf.credentials.certificate if leaf else None

    def _call(self, verb, path, *rest):
        self.world.happening(self, f"before {verb}")
        answer = getattr(self.world, verb)(path, *rest)
        self.world.calls[verb] += 1
        self.world.happening(self, f"after {verb}")
        return answer

    def get(self, path):
        return self._call("get", path)

    def create(self, path, body):
        return self._call("create", path, body)

    def replace(self, path, body):
        return self._call("replace", path, body)

    def apply(self, path, body, manager):
        return self._call("apply", path, body, manager)


def webhook():
    return {"name": "gate.modelgate.dev", "clientConfig": {"caBundle": ""}}


def verified(leaf, bundle, now):
    """What a client says to this leaf; None where it trusts it. A chain is verified once an hour."""
    hour = now.replace(minute=0, second=0)
    end = ends(leaf)
    return "expired" if now >= end else _verified(leaf, bundle, hour if hour + timedelta(hours=1) <= end else now)


@lru_cache(maxsize=100_000)
def ends(leaf):
    return x509.load_pem_x509_certificate(leaf).not_valid_after_utc


@lru_cache(maxsize=100_000)
def _verified(leaf, bundle, now):
    try:
        trusted = Store(x509.load_pem_x509_certificates(base64.b64decode(bundle)))
        builder = PolicyBuilder().store(trusted).time(now)
        builder.build_server_verifier(x509.DNSName(SERVICE.dns[0])).verify(x509.load_pem_x509_certificate(leaf), [])
    except (VerificationError, ValueError) as error:
        return str(error).splitlines()[0]
    return None


def pem(certificate):
    return certificate.public_bytes(Encoding.PEM)
