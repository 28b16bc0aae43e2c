"""A whole one-node cluster in namespaces of its own: real pods, probes, rollouts, Services; ready in five seconds.

Nothing in it touches the network, the mounts or the processes of the machine; when its process 1 ends, all is gone.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.e2e import cgroups
from tests.e2e.archive import one_file_image
from tests.e2e.assets import Assets
from tests.e2e.machine import require_node
from tests.e2e.plane import Place, Plane
from tests.e2e.processes import Process, wait_until

NAME = "node-1"
ADDRESS = "10.88.0.1"  # the bridge: what pods and the control plane call the node
PODS = "10.88.0.0/24"
SERVICES = "10.96.0.0/24"
FIRST_PORT = 6443
SANDBOX = "localhost/pause:1"
SOCKET = "unix:///run/containerd/containerd.sock"
INIT = Path(__file__).with_name("init.py")


class Node(Plane):
    """A control plane with kubelet, containerd, kube-proxy and scheduler; needs root. As a context manager."""

    def __init__(self, assets: Assets) -> None:
        require_node()
        folder = Path(tempfile.mkdtemp(prefix="modelgate-node-"))
        self._init = Process("init", namespaces(folder), folder / "init.log")
        self._cgroup = folder.name
        ports = itertools.count(FIRST_PORT)  # no other process is in this network
        place = Place(ADDRESS, SERVICES, enter(self._init, folder), pods=True, port=ports.__next__)
        super().__init__(assets, folder, place)

    def start(self) -> None:
        cgroups.make_branch(self._cgroup)
        self._start_containerd()
        super().start()
        self.load(self._sandbox())
        self._start_kubelet()
        self._start_proxy()
        self.processes.start(
            "kube-scheduler", self._assets("kube-scheduler"), f"--kubeconfig={self.kubeconfig}", "--leader-elect=false"
        )
        self.processes.wait_until(self._node_is_ready, "the node to be ready")

    def stop(self) -> None:
        self._init.kill()  # and with it everything inside
        cgroups.remove_branch(self._cgroup)
        super().stop()

    def run(self, *command: str | Path) -> str:
        """Run a command inside the node; returns what it prints. Raises CalledProcessError where it fails."""
        return subprocess.run(
            [*self.processes.enter, *map(str, command)], capture_output=True, text=True, check=True
        ).stdout

    def program(self, name: str) -> Path:
        """A program of the node, for ``run``."""
        return self._assets(name)

    def load(self, archive: Path) -> None:
        """Import the images of a docker-archive, so that pods need not pull them."""
        self.processes.wait_until(lambda: self._ctr("version"), "containerd to answer", seconds=20)
        self._ctr("--namespace=k8s.io", "images", "import", archive, check=True)

    def _ctr(self, *arguments: str | Path, check: bool = False) -> bool:
        command = [*self.processes.enter, self._assets("ctr"), *arguments]
        return subprocess.run(command, capture_output=True, check=check).returncode == 0

    def _node_is_ready(self) -> bool:
        condition = '{.status.conditions[?(@.type=="Ready")].status}'
        return self.kubectl.run("get", "node", NAME, f"-o=jsonpath={condition}").out == "True"

    def _sandbox(self) -> Path:
        archive = self.folder / "pause.tar"
        archive.write_bytes(one_file_image(self._assets("pause"), SANDBOX))
        return archive

    def _start_containerd(self) -> None:
        (self.folder / "cni").mkdir()
        write_json(self.folder / "cni" / "10.conflist", pod_network(self.folder))
        config = self.folder / "containerd.toml"
        config.write_text(containerd_config(self.folder, self._assets("runc")))
        self.processes.start("containerd", self._assets("containerd"), f"--config={config}")

    def _start_kubelet(self) -> None:
        config = write_json(self.folder / "kubelet.json", kubelet_config(self.folder, self._cgroup))
        self.processes.start(
            "kubelet",
            self._assets("kubelet"),
            f"--config={config}",
            f"--kubeconfig={self.kubeconfig}",
            f"--root-dir={self.folder / 'kubelet'}",
            f"--cert-dir={self.folder / 'kubelet-pki'}",
            f"--node-ip={ADDRESS}",
            f"--hostname-override={NAME}",
        )

    def _start_proxy(self) -> None:
        self.processes.start(
            "kube-proxy",
            self._assets("kube-proxy"),
            f"--kubeconfig={self.kubeconfig}",
            f"--hostname-override={NAME}",
            f"--cluster-cidr={PODS}",
            "--proxy-mode=iptables",
            "--conntrack-max-per-core=0",  # leave the kernel's own limit: it is the machine's, not the namespace's
        )


def namespaces(folder: Path) -> list[str]:
    """The command that starts process 1 in its own network, mounts and process ids."""
    unshare = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return [*unshare, sys.executable, "-I", "-S", str(INIT), ADDRESS, str(folder / "init.ready")]


def enter(init: Process, folder: Path) -> tuple[str, ...]:
    """The command prefix that runs a program in the namespaces of process 1, once they are complete."""
    wait_until((folder / "init.ready").exists, "the node's namespaces", watching=[init])
    first = Path(f"/proc/{init.pid}/task/{init.pid}/children").read_text().strip()
    # Not `ip netns exec`: that mounts a fresh /sys, which hides the control groups.
    return ("nsenter", f"--target={first}", "--net", "--mount", "--pid", f"--wd={folder}")


def write_json(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def pod_network(folder: Path) -> Any:
    """One bridge on which every pod has an address; hairpin, so that a pod can reach itself through a Service."""
    addresses = {
        "type": "host-local",
        "dataDir": str(folder / "ipam"),
        "ranges": [[{"subnet": PODS, "rangeStart": "10.88.0.10"}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "hairpinMode": True, "ipam": addresses}
    return {"cniVersion": "1.0.0", "name": "node", "plugins": [bridge]}


def containerd_config(folder: Path, runc: Path) -> str:
    """Containerd keeps to our folder, and does without lowering OOM scores, which needs CAP_SYS_RESOURCE."""
    return f"""
version = 3
root = "{folder}/containerd"
state = "/run/containerd"

[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "{SANDBOX}"

[plugins."io.containerd.cri.v1.runtime"]
restrict_oom_score_adj = true

[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["/usr/lib/cni"]
conf_dir = "{folder}/cni"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
BinaryName = "{runc}"
"""


def kubelet_config(folder: Path, cgroup: str) -> Any:
    """A kubelet without systemd, with either version of control groups, that never evicts for want of disk."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": ADDRESS,
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{cgroup}",
        "clusterDNS": ["10.96.0.10"],  # no server runs there; pods find the API server through their environment
        "containerRuntimeEndpoint": SOCKET,
        "enableControllerAttachDetach": False,
        "evictionHard": {"nodefs.available": "0%", "imagefs.available": "0%"},
        "failCgroupV1": False,
        "failSwapOn": False,
        "imageGCHighThresholdPercent": 100,
        "localStorageCapacityIsolation": False,
        "podLogsDir": str(folder / "pods"),
        "resolvConf": "",
    }
