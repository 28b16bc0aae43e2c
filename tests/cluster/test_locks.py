"""Forks beside threads that write the view: a child can always read it."""

import subprocess
import sys

from tests.laws import is_quick
from tests.shared import ROOT

FORKS = 20 if is_quick() else 200


def test_no_child_hangs_while_other_threads_write_the_view():
    """In a small process: a fork of one that holds what all tests have loaded takes a hundred times as long."""
    command = [sys.executable, "-m", "tests.cluster.locks", str(FORKS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stdout) == (0, f"{FORKS}\n"), done.stderr
