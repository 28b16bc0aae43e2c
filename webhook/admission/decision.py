"""What the engine decides about one object: values, with the reasons attached."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Cause", "Decision", "Default", "Refusal", "Warn"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """How the API server answers where a policy of Kubernetes' own refuses: the reason and HTTP status of the Status.

    ``prefix`` is what its message begins with (``pods "p" is forbidden: ``).
    """

    policy: str
    reason: str
    code: int
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason to refuse, as it goes into ``status.details.causes``.

    ``field`` is the path in the API server's spelling (``spec.files[0]``), ``reason`` a
    metav1 CauseType such as ``FieldValueInvalid``, ``message`` the error without the field
    (``Invalid value: "x": …``). ``code`` is ours (``LK201``); "" for the API server's own
    schema errors. ``refusal`` is there where a policy of Kubernetes' own refuses.
    """

    field: str
    reason: str
    message: str
    code: str = ""
    refusal: Refusal | None = None

    @property
    def label(self) -> str:
        """Which rule it was, as metrics and audit annotations count: few values, whatever users write."""
        return self.code or ("schema" if self.refusal is None else "policy")

    @property
    def text(self) -> str:
        """The message with the code behind it: what a reader may look up."""
        return f"{self.message} ({self.code})" if self.code else self.message

    def __str__(self) -> str:
        return f"{self.field}: {self.text}" if self.field else self.text


@dataclass(frozen=True, slots=True)
class Warn:
    """Something the user should know that does not stop the object.

    ``policy`` names the policy of Kubernetes' own that says so, if it is one.
    """

    field: str
    message: str
    code: str = ""
    policy: str = ""

    @property
    def label(self) -> str:
        return self.code or ("policy" if self.policy else "schema")

    def __str__(self) -> str:
        text = f"{self.field}: {self.message}" if self.field else self.message
        return f"{text} ({self.code})" if self.code else text


@dataclass(frozen=True, slots=True)
class Default:
    """One leaf that was filled in, changed to follow its inputs, or taken back.

    ``path`` is dotted (``spec.hardware.gpu.resourceName``); ``value`` is what stands there
    now, None where a value of ours was taken back; ``because`` is the policy's reason, ``code``
    is "" for a default of the CRD's schema.
    """

    path: str
    value: Any
    because: str
    code: str = ""
    removed: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome for one request.

    ``object`` is the normalised object of a mutation (the request's own object, by identity,
    when nothing changed). ``allowed`` is False exactly when ``causes`` is not empty.
    """

    object: dict[str, Any] | None
    causes: tuple[Cause, ...] = ()
    warnings: tuple[Warn, ...] = ()
    defaults: tuple[Default, ...] = ()
    audit: dict[str, str] = field(default_factory=dict)

    @property
    def allowed(self) -> bool:
        return not self.causes
