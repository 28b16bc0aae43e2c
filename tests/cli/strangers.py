"""A repository as a stranger may hand it to the command."""

from __future__ import annotations

import subprocess
from pathlib import Path

CACHE = """\
apiVersion: aim.silogen.ai/v1alpha1
kind: AIMModelCache
metadata: {name: cache, namespace: team}
spec: {sourceUri: "hf://org/model", size: 20Gi}
"""
CHANGED = CACHE.replace("org/model", "org/other")


def git(folder: Path, *arguments: str, given: str = "") -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(folder), *identity, "-c", "protocol.file.allow=always", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, input=given, text=True)
    return done.stdout.strip()


def commit(folder: Path, message: str = "change") -> None:
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-qm", message)
