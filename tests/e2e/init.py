"""Process 1 of a node: makes its network and its mounts, then reaps what is left to it, and does nothing else.

Run by ``unshare`` in namespaces of its own: ``python -I -S init.py ADDRESS READY``. Everything else of the node is
started from outside (``nsenter``), so that there is one way to start and watch a program. When this process ends, the
kernel kills all that runs in the node, and its interfaces and mounts are gone.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

NETWORK = """
link set lo up
link add cni0 type bridge
address add {address}/24 dev cni0
link set cni0 up
route add default dev cni0
"""


def main(address: str, ready: str) -> None:
    if os.getpid() != 1:
        sys.exit("init: not process 1; the harness starts this in namespaces of its own")
    for mount in ("--make-rprivate /", "-t tmpfs run /run"):  # containerd and iptables keep state and locks in /run
        subprocess.run(["mount", *mount.split()], check=True)
    subprocess.run(["ip", "-batch", "-"], input=NETWORK.format(address=address).encode(), check=True)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    Path(ready).touch()
    while True:
        signal.sigwait({signal.SIGCHLD})
        reap()


def reap() -> None:
    """Collect every child that has ended: shims and their containers are left to process 1."""
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        pass


if __name__ == "__main__":
    main(*sys.argv[1:])
