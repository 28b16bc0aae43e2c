"""The settings of the server: one model, filled from flags and ``MODELGATE_*`` variables. Unknown ones are errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from webhook.admission.errors import Problem, SettingsError
from webhook.catalog import known_apis
from webhook.facts.settings import DEFAULT_SETTINGS, folded
from webhook.facts.settings import Settings as FactSettings
from webhook.policy import Profile
from webhook.serve.http.sockets import default_host

__all__ = ["Settings"]

PREFIX: Final = "MODELGATE_"
FOREIGN: Final = ("MODELGATE_E2E", "MODELGATE_SHARED", "MODELGATE_SERVICE_", "MODELGATE_PORT")
"""Variables with this prefix that are not settings: the tests', and those that Kubernetes creates for a Service."""


_LABEL_VALUE: Final = Field(pattern=r"^[\w.:@/+-]*$", max_length=200)
"""What a line of ``/readyz`` and a label of a metric show without quotes. The length is not in the pattern: a repeated
class of Unicode's letters takes 20 MiB."""


def _listed(value: object) -> object:
    """The names in a variable, which are separated by commas."""
    return tuple(filter(None, value.split(","))) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class Settings(BaseModel):
    """How the webhook serves."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str = "127.0.0.1"
    listen_port: Annotated[int, Field(ge=0, le=65535)] = 9443
    tls_dir: Path
    profile: Profile = Profile.STANDARD
    policies: Annotated[tuple[Path, ...], BeforeValidator(_listed)] = ()
    """Folders of APIs, laid out as ``policies/``, beside the built-in ones; reloaded on change."""
    only_policies: Path | None = None
    """Such a folder, to use instead of the built-in one; ``policies`` are added to it."""
    admission_policies: Path | None = None
    """A folder of Kubernetes' own policies (ValidatingAdmissionPolicy and MutatingAdmissionPolicy) with their bindings
    and params, evaluated beside the built-in rules; reloaded on change."""
    policies_poll_seconds: Annotated[float, Field(gt=0)] = 5.0
    """How often to check those folders. The kubelet updates a mounted ConfigMap within a minute."""
    drain_seconds: Annotated[float, Field(ge=0, le=600)] = 10.0
    """How long to serve after SIGTERM: longer than endpoints need to leave every kube-proxy."""
    tls_poll_seconds: Annotated[float, Field(gt=0)] = 5.0
    """How often to check the certificate files. A mounted Secret changes by a symlink: inotify loses track of it."""
    health_port: Annotated[int, Field(ge=0, le=65535)] = 0
    """The port of health and metrics; 0: on the port of the webhooks."""
    health_tls: bool = False
    """Serve that port over TLS, with the same certificate. The kubelet and Prometheus expect plain HTTP."""

    caller: Literal["none", "mtls", "token"] = "none"
    """How callers of the webhooks prove who they are."""
    client_ca: Annotated[Path | None, Field(validate_default=True)] = None
    """For mtls: a file with the CAs of client certificates; reloaded on change."""
    client_name: Names = ()
    """For mtls: allowed common names or alternative names. For token: subjects that need no attestation."""
    token_audience: Annotated[Names, Field(validate_default=True)] = ()
    """For token: addresses of the webhooks without a path, such as ``https://NAME.NAMESPACE.svc:443``."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """What to log, by Modelgate and by uvicorn."""

    log_format: Literal["text", "json"] = "text"
    """How to write log lines."""
    log_users: Literal["name", "hash", "none"] = "name"
    """How the log names who has asked for an object that is refused."""
    metrics_namespaces: Annotated[int, Field(ge=0, le=1000)] = 0
    """So many namespaces are a label of the findings; 0: none."""
    trace_endpoint: Annotated[str, Field(pattern=r"^(https?://.+)?$")] = ""
    """The OTLP collector of traces, over HTTP; empty: no traces."""

    view: Literal["none", "live"] = "none"
    """Which other objects rules can see: none, or those of the cluster."""
    view_kubeconfig: Path | None = None
    """The cluster's kubeconfig; without it, the in-cluster configuration of the pod."""
    view_stale_seconds: Annotated[float, Field(gt=0)] = 180.0
    """The server is not ready after this time without an event of a kind: bookmarks come once a minute, and three are
    missing."""

    without: Annotated[Names, AfterValidator(known_apis)] = ()
    """The APIs that this installation does not cover: their kinds are neither watched nor judged."""

    fleet_stage: Annotated[str, _LABEL_VALUE] = ""
    """The stage of this cluster among others that are to be alike, such as ``canary``."""
    fleet_artefact: Annotated[str, _LABEL_VALUE] = ""
    """The artefact with packs, policies and exceptions that it is to use: a version or a digest."""

    pod: Annotated[str, Field(pattern=r"^([^/]+/[^/]+/[^/]+)?$")] = ""
    """The pod of this server, as ``NAMESPACE/NAME/UID``: rules and policies that are refused are Events about it."""

    facts: FactSettings = DEFAULT_SETTINGS
    """Which behaviour to follow where an API has more than one correct behaviour; each has its own name, such as
    MODELGATE_OME."""

    @field_validator("health_port")
    @classmethod
    def _another_port(cls, value: int, info: ValidationInfo) -> int:
        if value and value == info.data.get("listen_port"):
            raise ValueError("must differ from --port")
        return value

    @field_validator("client_ca", "token_audience")
    @classmethod
    def _given_with_its_caller(cls, value: object, info: ValidationInfo) -> object:
        needed = {"client_ca": "mtls", "token_audience": "token"}[str(info.field_name)]
        if info.data.get("caller") == needed and not value:
            raise ValueError(f"is required by --caller={needed}")
        return value

    @classmethod
    def of(cls, flags: Mapping[str, Any], environment: Mapping[str, str]) -> Settings:
        """Settings from flags (None: not given), then environment variables, then defaults.

        Raises:
            SettingsError: with every setting that is unknown or invalid.
        """
        values: dict[str, Any] = {}
        for name, value in environment.items():
            if name.startswith(PREFIX) and not name.startswith(FOREIGN):
                values[name.removeprefix(PREFIX).lower()] = value
        values.update({name: value for name, value in flags.items() if value is not None})
        values.setdefault("host", default_host(environment))
        facts = {each.name: values.pop(each.name) for each in fields(FactSettings) if each.name in values}
        facts.setdefault("nodes", "off")  # a gate watches them only if it is told to
        try:
            return cls.model_validate({"facts": folded(facts), **values})
        except ValidationError as error:
            raise SettingsError([_problem(dict(item)) for item in error.errors()]) from None
        except ValueError as error:
            raise SettingsError([Problem(f"--set ({PREFIX}OPERATORS)", "", str(error))]) from None


def _problem(error: dict[str, Any]) -> Problem:
    name = str(error["loc"][-1])
    message = "unknown setting" if error["type"] == "extra_forbidden" else error["msg"]
    if error["type"] == "value_error":
        message = str(error["ctx"]["error"])
    if error["type"] == "missing":
        message = "is required"
    return Problem(f"--{name.replace('_', '-')} ({PREFIX}{name.upper()})", "", message)
