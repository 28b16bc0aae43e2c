"""Every exception that modelgate raises on purpose.

    ModelgateError
    ├── RequestError            what was sent cannot be reviewed (HTTP 4xx)
    │   ├── Malformed             not an AdmissionReview, or one that contradicts itself (400)
    │   ├── UnsupportedMedia      not application/json (415)
    │   ├── TooLarge              over the body limit (413)
    │   └── TooSlow               not there in time (408)
    ├── Unavailable             cannot answer now; the caller may retry (503)
    │   ├── NotReady              no catalog loaded yet
    │   └── DeadlineExceeded      the caller's time would be over before we finish; names what was slow
    ├── Fault                   something of ours is broken (500)
    └── LoadError               data that cannot be used: every problem at once
        ├── CatalogError          a CRD or Policy that does not load
        ├── DocumentError         a manifest that is not YAML or JSON, with file and line
        └── SettingsError         a setting that does not parse

A refusal is not an exception: it is a :class:`webhook.admission.decision.Decision`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = [
    "CatalogError",
    "DeadlineExceeded",
    "DocumentError",
    "Fault",
    "LoadError",
    "Malformed",
    "ModelgateError",
    "NotReady",
    "Problem",
    "RequestError",
    "SettingsError",
    "TooLarge",
    "TooSlow",
    "Unavailable",
    "UnsupportedMedia",
]


class ModelgateError(Exception):
    """The root of the tree."""


class RequestError(ModelgateError):
    """What was sent cannot be reviewed; the text is one sentence for the sender."""

    status = 400


class Malformed(RequestError):
    """Not an AdmissionReview, or one whose parts contradict each other."""


class UnsupportedMedia(RequestError):
    """The content type is not application/json."""

    status = 415


class TooLarge(RequestError):
    """The body is over the limit."""

    status = 413


class TooSlow(RequestError):
    """The body did not come in time."""

    status = 408


class Unavailable(ModelgateError):
    """No answer now; the caller may retry, or let its failurePolicy decide."""

    status = 503


class NotReady(Unavailable):
    """The catalog is not loaded yet: letting anything through would be ignorance."""


class DeadlineExceeded(Unavailable):
    """The caller's deadline is over; the text names the step that was running."""


class Fault(ModelgateError):
    """Something of ours is broken (HTTP 500): the caller's failurePolicy decides, never a denial."""

    status = 500


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a file that was to be loaded.

    ``source`` is a file name (with line where known), ``path`` the place inside the
    document, ``message`` what was found and what was expected.
    """

    source: str
    path: str
    message: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.source, self.path, self.message) if part)


class LoadError(ModelgateError):
    """Data that cannot be used; ``problems`` lists everything found, not the first only."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(problems)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


class CatalogError(LoadError):
    """A CRD or Policy that does not load."""


class DocumentError(LoadError):
    """A manifest that is not YAML or JSON, or holds no Kubernetes object."""


class SettingsError(LoadError):
    """A setting that is unknown or does not parse."""
