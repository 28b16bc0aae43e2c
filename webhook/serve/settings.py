"""The settings of the server: one model, filled from ``MODELGATE_*`` variables and flags; unknown ones are errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from webhook.admission.errors import Problem, SettingsError
from webhook.facts.settings import DEFAULT_SETTINGS
from webhook.facts.settings import Settings as FactSettings
from webhook.policy import Profile

__all__ = ["Settings"]

PREFIX: Final = "MODELGATE_"
FOREIGN: Final = ("MODELGATE_E2E", "MODELGATE_SHARED", "MODELGATE_SERVICE_", "MODELGATE_PORT")
"""Variables with our prefix that are not settings: the tests', and those that Kubernetes makes for a Service."""


class Settings(BaseModel):
    """How the gate serves."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str = "127.0.0.1"
    listen_port: Annotated[int, Field(ge=0, le=65535)] = 9443
    tls_dir: Path
    profile: Profile = Profile.STANDARD
    policies: Path | None = None
    """A folder of APIs, laid out as ``policies/`` is, to use instead of the installed one; changes are taken up."""
    admission_policies: Path | None = None
    """A folder of Kubernetes' own policies (ValidatingAdmissionPolicy and MutatingAdmissionPolicy) with their bindings
    and params, that have a say, too; changes are taken up."""
    policies_poll_seconds: Annotated[float, Field(gt=0)] = 5.0
    """How often to look at those folders. The kubelet brings a changed ConfigMap within a minute."""
    drain_seconds: Annotated[float, Field(ge=0, le=600)] = 10.0
    """How long to serve on after SIGTERM: longer than endpoints need to leave every kube-proxy."""
    tls_poll_seconds: Annotated[float, Field(gt=0)] = 10.0
    """How often to look at the certificate files. A mounted Secret changes by a symlink: inotify loses track of it."""

    view: Literal["none", "live"] = "none"
    """What the gate knows of other objects: nothing, or what the API server tells it."""
    view_kubeconfig: Path | None = None
    """How to reach that API server; without it, as the service account of the pod."""
    view_stale_seconds: Annotated[float, Field(gt=0)] = 180.0
    """After how long without news of a kind the gate is not ready: three of the bookmarks that come each minute."""

    facts: FactSettings = DEFAULT_SETTINGS
    """What facts and rules do where an API has more than one right answer: each by its own name, as MODELGATE_OME."""

    @classmethod
    def of(cls, flags: Mapping[str, Any], environment: Mapping[str, str]) -> Settings:
        """Settings from flags (None: not given) over environment variables over defaults.

        Raises:
            SettingsError: with every setting that is unknown or does not parse.
        """
        values: dict[str, Any] = {}
        for name, value in environment.items():
            if name.startswith(PREFIX) and not name.startswith(FOREIGN):
                values[name.removeprefix(PREFIX).lower()] = value
        values.update({name: value for name, value in flags.items() if value is not None})
        facts = {each.name: values.pop(each.name) for each in fields(FactSettings) if each.name in values}
        try:
            return cls.model_validate({"facts": facts, **values})
        except ValidationError as error:
            raise SettingsError([_problem(dict(item)) for item in error.errors()]) from None


def _problem(error: dict[str, Any]) -> Problem:
    name = str(error["loc"][-1])
    message = "unknown setting" if error["type"] == "extra_forbidden" else error["msg"]
    if error["type"] == "missing":
        message = "is needed"
    return Problem(f"--{name.replace('_', '-')} ({PREFIX}{name.upper()})", "", message)
