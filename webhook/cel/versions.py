"""The Kubernetes versions that expressions are compiled for."""

from __future__ import annotations

from typing import Final

Version = tuple[int, int]
"""Major and minor."""

LATEST: Final[Version] = (1, 37)
"""The newest Kubernetes whose CEL is implemented here (apiserver v0.37.1); stored expressions may use all of it."""

COMPATIBLE: Final[Version] = (LATEST[0], LATEST[1] - 1)
"""The version that an API server of the latest version compiles new expressions for.

It is the minor before its own, so that a cluster can be rolled back
(``DefaultCompatibilityVersion`` in apiserver/pkg/cel/environment/base.go).
"""
