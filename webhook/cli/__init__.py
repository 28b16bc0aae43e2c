"""The `modelgate` command, one module per subcommand, and its exit codes."""

from __future__ import annotations

import atexit
import gc
import importlib
import os
from collections.abc import Sequence
from typing import Final

from webhook.ground.frames import with_room

__all__ = ["ALIASES", "COMMANDS", "FAILED", "FINDINGS", "GOOD", "INTERRUPTED", "PIPE", "USAGE", "main"]

GOOD: Final = 0
"""Nothing is wrong."""
FINDINGS: Final = 1
"""Something is refused, a case fails, or there are warnings and --fail-on=warning."""
FAILED: Final = 2
"""The command cannot judge: a file cannot be read, or nothing is found."""
USAGE: Final = 64
"""The command line or the configuration is wrong (EX_USAGE of sysexits.h)."""
INTERRUPTED: Final = 130
"""Stopped by Ctrl-C, as a shell reports it."""
PIPE: Final = 141
"""The reader of the output has stopped reading, as a shell reports it."""

COMMANDS: Final = {
    "serve": ("webhook.cli.serve", "run the admission webhook"),
    "check": ("webhook.cli.check", "validate manifests offline"),
    "explain": ("webhook.cli.explain", "explain what is chosen for an object, and where each field comes from"),
    "scan": ("webhook.cli.scan", "judge the stored objects of a cluster or a folder"),
    "lsp": ("webhook.cli.lsp", "show findings, texts and repairs in an editor"),
    "demo": ("webhook.cli.demo", "show the webhook at work, without a cluster"),
    "normalise": ("webhook.cli.normalise", "print manifests with all defaults, as a cluster would store them"),
    "test": ("webhook.cli.test", "run test cases of policies"),
    "pack": ("webhook.cli.pack", "make a folder of policies for definitions of your own"),
    "policies": ("webhook.cli.policies", "convert policies of Kyverno and Gatekeeper to Kubernetes' own"),
    "rule": ("webhook.cli.rule", "explain one rule"),
    "export": ("webhook.cli.export", "export rules as Kubernetes admission policies or as CRD rules"),
    "fields": ("webhook.cli.fields", "list every field that Modelgate may set"),
    "doctor": ("webhook.cli.doctor", "find what is wrong with an installation"),
    "certs": ("webhook.cli.certs", "issue the server certificate and publish its CA"),
    "reconcile": ("webhook.cli.reconcile", "run the reconciler"),
    "completion": ("webhook.cli.shell.completion", "print the completion of a shell"),
    "version": ("webhook.cli.shell.version", "print the version"),
}
"""Command → its module, which is imported only when the command runs: the server does not load a client library."""

YOUNG_OBJECTS: Final = 200_000
"""Objects between two collections of garbage. With Python's 700, loading code and rules takes a fifth longer, with
50,000 a twentieth. Those that wait to be collected take some 20 MB, so what runs for long has a lower number.
"""

ALIASES: Final = {"normalize": "normalise"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    gc.set_threshold(YOUNG_OBJECTS, 20, 100)
    atexit.register(gc.freeze)  # or Python looks for garbage once more, which takes 20 ms
    # Whatever is installed beside must not see or change what pydantic reads here; to search for it takes 10 ms.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:  # imports are inside: an interrupt in the first second must not print their traceback
        return int(with_room(importlib.import_module("webhook.cli.shell.running").run, argv))
    except KeyboardInterrupt:
        return INTERRUPTED
