"""Every exception that modelgate raises on purpose.

    ModelgateError
    ├── RequestError            the request cannot be reviewed (HTTP 4xx)
    │   ├── Malformed             not an AdmissionReview, or one that contradicts itself (400)
    │   ├── Unauthenticated       a caller that does not prove who it is (401)
    │   ├── Forbidden             a caller that is not allowed to ask (403)
    │   ├── UnsupportedMedia      not application/json (415)
    │   ├── TooLarge              over the body limit (413)
    │   └── TooSlow               not received in time (408)
    ├── Unavailable             no answer now; the caller may retry (503)
    │   ├── NotReady              catalog or view not loaded yet
    │   └── DeadlineExceeded      the caller's timeout is over; names the slow step
    ├── Fault                   an internal error (500)
    └── LoadError               unusable data: every problem at once
        ├── CatalogError          a CRD or Policy that does not load
        ├── DocumentError         a manifest that is not YAML or JSON, with file and line
        └── SettingsError         an unknown or invalid setting

A refusal is not an exception: it is a :class:`webhook.admission.decision.Decision`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from webhook.admission.plain import one_line


class ModelgateError(Exception):
    """The root of the tree. Every error can be pickled: a large review is decided in another process."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args), self.__dict__ or None


def _restored(kind: type[ModelgateError], arguments: tuple[Any, ...]) -> ModelgateError:
    """An error without a call of ``__init__``, whose parameters may differ from ``args``."""
    return kind.__new__(kind, *arguments)


class RequestError(ModelgateError):
    """The request cannot be reviewed; the text is one sentence for the sender."""

    status = 400


class Malformed(RequestError):
    """Not an AdmissionReview, or one whose parts contradict each other."""


class Unauthenticated(RequestError):
    """The caller does not prove who it is: the certificate or token is missing or invalid."""

    status = 401


class Forbidden(RequestError):
    """The caller is known, but must not ask this."""

    status = 403


class UnsupportedMedia(RequestError):
    """The content type is not application/json."""

    status = 415


class TooLarge(RequestError):
    """The body is over the limit."""

    status = 413


class TooSlow(RequestError):
    """The body was not received in time."""

    status = 408


class Unavailable(ModelgateError):
    """No answer now; the caller may retry, or let its failurePolicy decide."""

    status = 503


class NotReady(Unavailable):
    """The catalog or the view is not loaded yet, so nothing can be decided."""


class DeadlineExceeded(Unavailable):
    """The caller's deadline is over; the text names the step that was running."""


class Fault(ModelgateError):
    """An internal error (HTTP 500): the caller's failurePolicy decides; it is never a denial."""

    status = 500


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a file.

    ``source`` is the file name, with the line if known; ``path`` the location inside the document; ``message`` what was
    found and what is expected; it passes :func:`one_line`.
    """

    source: str
    path: str
    message: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", one_line(self.message))

    def __str__(self) -> str:
        return one_line(": ".join(part for part in (self.source, self.path, self.message) if part))


class LoadError(ModelgateError):
    """Unusable data; ``problems`` lists all faults, not only the first."""

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
    """An unknown or invalid setting."""
