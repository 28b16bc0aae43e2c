"""What the harness owes the machine: nothing it started is left, however the tests end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.machine import Unavailable, require_debian
from tests.e2e.plane import Plane
from tests.e2e.processes import DIES_WITH_US, Failed, Process, wait_until

PARENT = """
import sys, time
from pathlib import Path
from tests.e2e.processes import Process
process = Process("child", ["sleep", "600"], Path(sys.argv[1]))
print(process.pid, flush=True)
time.sleep(600)
"""


def test_a_process_dies_with_the_tests_that_were_killed(tmp_path):
    if not DIES_WITH_US:
        pytest.skip("needs setpriv of util-linux")
    command = [sys.executable, "-c", PARENT, str(tmp_path / "log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        started = Path(f"/proc/{child}/comm")  # before it is the program itself, it has not yet asked to die with us
        wait_until(lambda: started.read_text() == "sleep\n", "the child to start")
        os.kill(parent.pid, signal.SIGKILL)
        wait_until(lambda: ended(child), "the child to end")


def ended(pid):
    """Gone, or waiting to be reaped by the process that adopts orphans."""
    try:
        return "State:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_process_that_ignores_the_request_to_end_is_killed(tmp_path):
    deaf = "trap '' TERM; echo deaf; while :; do sleep 600; done"
    process = Process("deaf", ["sh", "-c", deaf], tmp_path / "log")
    wait_until(lambda: process.tail() == "deaf", "the trap", watching=[process])
    process.stop(grace=0.1)
    assert not process.running()


def test_waiting_for_a_process_that_ended_fails_at_once_with_the_end_of_its_log(tmp_path):
    process = Process("brief", ["sh", "-c", "echo no such flag; exit 3"], tmp_path / "log")
    with pytest.raises(Failed, match=r"(?s)brief ended with 3; log: .*no such flag"):
        wait_until(lambda: False, "what never comes", watching=[process])


def test_a_plane_that_does_not_come_up_keeps_its_logs_and_names_them(plane_assets, tmp_path):
    broken = type(plane_assets)(plane_assets.paths | {"etcd": Path("/bin/false")})
    folder = tmp_path / "plane"
    folder.mkdir()
    with pytest.raises(Failed, match=f"etcd ended with 1; log: {folder}/etcd.log"), Plane(broken, folder):
        pass
    assert (folder / "etcd.log").exists()
    assert not (folder / "sa.key").exists()


def test_missing_programs_are_named_by_their_debian_packages(monkeypatch):
    monkeypatch.setattr("tests.e2e.machine.DEBIAN", {"/nowhere/bridge": "containernetworking-plugins"})
    with pytest.raises(Unavailable, match="apt-get install containernetworking-plugins"):
        require_debian("/nowhere/bridge")


@pytest.mark.parametrize(("wanted", "outcome"), [("1", "1 skipped"), ("require", "1 error")])
def test_what_cannot_run_here_is_skipped_unless_everything_is_required(tmp_path, wanted, outcome):
    """No programs and no Go: what a test says then, and what CI makes of it."""
    bare = {"XDG_CACHE_HOME": str(tmp_path), "PATH": str(tmp_path), "KUBEBUILDER_ASSETS": "", "MODELGATE_E2E": wanted}
    test = "tests/e2e/test_plane.py::test_a_status_is_written_without_asking_the_gate"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", test]
    printed = subprocess.run(command, env=os.environ | bare, capture_output=True, text=True, check=False).stdout
    assert "install Go 1.26, or set KUBEBUILDER_ASSETS" in printed
    assert outcome in printed
