"""A real control plane without nodes: etcd, kube-apiserver and kube-controller-manager, ready in about five seconds.

Deployments become ReplicaSets and Pods, owners cascade, namespaces finish, tokens are made; no Pod ever runs.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.e2e.assets import Assets
from tests.e2e.kubectl import Kubectl, Program
from tests.e2e.processes import Processes, free_port

LOGS = ("*.log", "pods")
TOKEN = "e2e-administrator"

# A third of an API server's time is Go's garbage collector, which by default lets the heap double: with the definitions
# of all kinds it holds half a gigabyte. The limit is where the collector works as often as it has to.
MEMORY = {"GOGC": "400", "GOMEMLIMIT": "2GiB"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a control plane runs: an address with free ports, and the way in (a command prefix)."""

    address: str = "127.0.0.1"
    services: str = "10.0.0.0/24"
    enter: tuple[str, ...] = ()
    pods: bool = False
    port: Callable[[], int] = field(default=free_port)

    @property
    def host(self) -> str:
        """The address in a URL."""
        return f"[{self.address}]" if ":" in self.address else self.address


class Plane:
    """A control plane as a context manager; its folder goes when it ends, but for the logs after ``keep_logs``.

    ``flags`` are further ones of the API server.
    """

    def __init__(
        self, assets: Assets, folder: Path | None = None, place: Place | None = None, flags: Sequence[str] = ()
    ) -> None:
        self.folder = folder or Path(tempfile.mkdtemp(prefix="modelgate-plane-"))
        self.kubeconfig = self.folder / "kubeconfig"
        self._assets = assets
        self._place = place or Place()
        self._flags = flags
        self.kubectl = Kubectl(assets("kubectl"), self.kubeconfig, self._place.enter)
        self.helm = Program(assets("helm"), self.kubeconfig, self._place.enter)
        self.processes = Processes(self.folder, self._place.enter, {"PATH": assets.search_path(), **MEMORY})
        self._keep = False

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.keep_logs()
            self.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind:
            self.keep_logs()
        self.stop()

    def keep_logs(self) -> Path:
        """Let the folder outlive us; returns it, to be named in a failure."""
        self._keep = True
        return self.folder

    def stop(self) -> None:
        # An API server without etcd stops slowly; after a failure, do not wait for it.
        self.processes.stop(grace=1 if self._keep else 10)
        discard(self.folder, keep=LOGS if self._keep else ())

    def start(self) -> None:
        etcd = self._start_etcd()
        (self.folder / "tokens.csv").write_text(f'{TOKEN},admin,admin,"system:masters"\n')
        (self.folder / "sa.key").write_bytes(new_rsa_key())
        port = self._place.port()
        self._start_apiserver(etcd, port)
        self.kubeconfig.write_text(kubeconfig(f"https://{self._place.host}:{port}", self._pki / "apiserver.crt"))
        self.processes.wait_until(self._ready, "the API server to be ready")
        self._start_controllers()
        self.processes.wait_until(self._has_namespaces, "the namespace default")

    def restart(self) -> None:
        """Kill etcd and the API server, and start them again with what they have stored."""
        self.processes.restart("etcd", "kube-apiserver")
        self.processes.wait_until(self._ready, "the API server to be ready again")

    @property
    def _pki(self) -> Path:
        return self.folder / "pki"

    def _ready(self) -> bool:
        return self.kubectl.run("get", "--raw", "/readyz").code == 0

    def _has_namespaces(self) -> bool:
        """The API server makes them once it is ready."""
        return self.kubectl.run("get", "namespace", "default").code == 0

    def _start_etcd(self) -> str:
        host = self._place.host if ":" in self._place.address else "127.0.0.1"
        clients, peers = (f"http://{host}:{self._place.port()}" for _ in range(2))
        self.processes.start(
            "etcd",
            self._assets("etcd"),
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={clients}",
            f"--advertise-client-urls={clients}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
            f"--listen-peer-urls={peers}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        )
        return clients

    def _start_apiserver(self, etcd: str, port: int) -> None:
        place = self._place
        # Without pods there is no controller-made token to mount, and an endpoint on loopback is refused by validation.
        without_pods = ["--disable-admission-plugins=ServiceAccount", "--endpoint-reconciler-type=none"]
        self.processes.start(
            "kube-apiserver",
            self._assets("kube-apiserver"),
            f"--etcd-servers={etcd}",
            f"--bind-address={place.address}",
            f"--advertise-address={place.address}",
            f"--secure-port={port}",
            f"--cert-dir={self._pki}",
            f"--service-cluster-ip-range={place.services}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self.folder / 'sa.key'}",
            f"--service-account-signing-key-file={self.folder / 'sa.key'}",
            "--authorization-mode=RBAC",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            "--allow-privileged",
            "--kubelet-preferred-address-types=InternalIP",
            *(() if place.pods else without_pods),
            *self._flags,
        )

    def _start_controllers(self) -> None:
        self.processes.start(
            "kube-controller-manager",
            self._assets("kube-controller-manager"),
            f"--kubeconfig={self.kubeconfig}",
            f"--bind-address={self._place.address}",
            f"--secure-port={self._place.port()}",
            f"--root-ca-file={self._pki / 'apiserver.crt'}",
            f"--service-account-private-key-file={self.folder / 'sa.key'}",
            "--use-service-account-credentials",
            "--leader-elect=false",
        )


def kubeconfig(server: str, ca: Path) -> str:
    """A kubeconfig of one administrator, as JSON."""
    cluster = {"server": server, "certificate-authority": str(ca)}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "e2e", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": TOKEN}}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "admin"}}],
        "current-context": "e2e",
    }
    return json.dumps(config)


def new_rsa_key() -> bytes:
    """A private key in PEM: what service-account tokens are signed with."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(encoding, form, serialization.NoEncryption())


def discard(folder: Path, keep: Sequence[str] = ()) -> None:
    """Remove a folder, but for the files and folders in it that match ``keep``."""
    kept = {path for pattern in keep for path in folder.glob(pattern)}
    for path in set(folder.iterdir()) - kept:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
    if not kept:
        folder.rmdir()
