"""What each Kubernetes minor can install of the exported documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from webhook.cel import LATEST, Version

OLDEST: Final[Version] = (1, 34)
"""The oldest minor to export for: the first with MutatingAdmissionPolicy v1beta1. Every exported expression compiles in
its environment for new expressions, which is that of the minor before it."""

_STABLE: Final[Version] = (1, 36)
"""The first minor with MutatingAdmissionPolicy v1."""

_STATIC: Final[Version] = (1, 36)
"""The first minor that reads policies from manifest directories (KEP-5793)."""

_STATIC_BY_DEFAULT: Final[Version] = (1, 37)

_GROUP: Final = "admissionregistration.k8s.io"


@dataclass(frozen=True, slots=True)
class Release:
    """One minor, as far as exported documents differ by it (``kube_features.go`` of apiserver 0.36.3 and 0.37.2)."""

    version: Version

    @classmethod
    def parse(cls, text: str) -> Release:
        """The release of a text such as "1.36". Raises KeyError for a minor that is not among :data:`RELEASES`."""
        return RELEASES[text]

    def __str__(self) -> str:
        return ".".join(map(str, self.version))

    def api(self, kind: str) -> str:
        """The apiVersion of a policy or binding: validating ones are stable since 1.30, mutating ones since 1.36."""
        beta = kind.startswith("Mutating") and self.version < _STABLE
        return f"{_GROUP}/{'v1beta1' if beta else 'v1'}"

    @property
    def has_static(self) -> bool:
        return self.version >= _STATIC

    def needs(self, *, mutating: bool, static: bool) -> str:
        """The releases on which documents for this one can be installed, and the flags of kube-apiserver they need."""
        if static and self.version >= _STATIC_BY_DEFAULT:
            return f"Kubernetes {self} or newer."
        if static:
            gate = "with --feature-gates=ManifestBasedAdmissionControlConfig=true before 1.37"
            return f"Kubernetes {self} or newer; {gate}."
        if not mutating:
            return f"Kubernetes {Release(OLDEST)} or newer."
        if self.version >= _STABLE:
            return f"Kubernetes {Release(_STABLE)} or newer."
        flags = f"--feature-gates=MutatingAdmissionPolicy=true --runtime-config={_GROUP}/v1beta1=true"
        return f"Kubernetes {Release(OLDEST)} or 1.35 with {flags}."


RELEASES: Final = {
    str(release): release for release in (Release((1, minor)) for minor in range(OLDEST[1], LATEST[1] + 1))
}
"""By text, every minor to export for, oldest first."""

DEFAULT_RELEASE: Final = Release(_STABLE)
"""What is exported for it can be installed on every newer minor."""
