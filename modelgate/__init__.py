"""Modelgate: judges the custom resources of LLM serving, as a cluster in which its gate is installed.

    gate = modelgate.Gate()
    verdict = gate.check({"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "Model", …})
    verdict.allowed, verdict.findings, verdict.object, verdict.filled

What this module exports, and :mod:`modelgate.cel`, keep their names and meanings within a minor version; all else may
change. A name is loaded when it is first used.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webhook.library import (
        Behaviour,
        CatalogError,
        Change,
        Child,
        DocumentError,
        Explanation,
        Finding,
        Gate,
        JudgedAs,
        LoadError,
        Malformed,
        ModelgateError,
        Origin,
        Place,
        Problem,
        Settings,
        SettingsError,
        Severity,
        Table,
        Verdict,
    )

__all__ = [
    "Behaviour",
    "CatalogError",
    "Change",
    "Child",
    "DocumentError",
    "Explanation",
    "Finding",
    "Gate",
    "JudgedAs",
    "LoadError",
    "Malformed",
    "ModelgateError",
    "Origin",
    "Place",
    "Problem",
    "Settings",
    "SettingsError",
    "Severity",
    "Table",
    "Verdict",
    "main",
]


def main() -> int:
    """Run the command `modelgate`."""
    if sys.version_info < (3, 11):  # noqa: UP036 - a checkout has no pip that tells it
        sys.stderr.write("modelgate: needs Python 3.11 or newer\n")
        return 2
    try:
        from webhook.cli import main as run  # noqa: PLC0415 - found only now
    except KeyboardInterrupt:
        return 130
    return run()


if not TYPE_CHECKING:  # so that mypy knows the names above and no others

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from webhook import library  # noqa: PLC0415 - loaded when it is first used

        return getattr(library, name)

    def __dir__() -> list[str]:
        return sorted(__all__)
