"""The settings of the server, from flags and ``MODELGATE_*`` variables. Unknown ones are errors.

They are read without pydantic, which would take 8 MiB as long as the server runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints

from webhook.admission.errors import Problem, SettingsError
from webhook.catalog import known_apis
from webhook.facts.settings import DEFAULT_SETTINGS, by_nodes, folded
from webhook.facts.settings import Settings as FactSettings
from webhook.policy import Profile
from webhook.serve.http.sockets import default_host

__all__ = ["Settings"]

PREFIX: Final = "MODELGATE_"
FOREIGN: Final = ("MODELGATE_E2E", "MODELGATE_SHARED", "MODELGATE_SERVICE_", "MODELGATE_PORT")
"""Variables with this prefix that are not settings: the tests', and those that Kubernetes creates for a Service."""

_LABEL_VALUE: Final = r"[\w.:@/+-]{0,200}"
"""What a line of ``/readyz`` and a label of a metric show without quotes."""
_POD: Final = "([^/]+/[^/]+/[^/]+)?"

Read = Callable[[Any], Any]
"""Makes a setting of a flag's value or of a variable's text; ValueError says what it must be."""


def _number(kind: type[int | float], least: float, most: float) -> Read:
    """A number from the least to the most."""

    def read(value: object) -> int | float:
        try:
            number = kind(str(value))
        except ValueError:
            number = None
        if number is None or not least <= number <= most:
            raise ValueError(f"must be a {'whole ' * (kind is int)}number from {least:g} to {most:g}")
        return number

    return read


def _one_of(*choices: str) -> Read:
    def read(value: object) -> str:
        if value not in choices:
            raise ValueError(f"must be {', '.join(choices[:-1])} or {choices[-1]}")
        return str(value)

    return read


def _matching(pattern: str) -> Read:
    def read(value: object) -> str:
        if re.fullmatch(pattern, str(value)) is None:
            raise ValueError(f"must match the pattern {pattern}")
        return str(value)

    return read


def _flag(value: object) -> bool:
    if (text := str(value).lower()) not in _FLAGS:
        raise ValueError("must be true or false")
    return _FLAGS[text]


_FLAGS: Final = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}


def _names(value: Any) -> tuple[str, ...]:
    """The names in a variable, which are separated by commas, or those of a flag."""
    return tuple(filter(None, value.split(","))) if isinstance(value, str) else tuple(value)


def _profile(value: object) -> Profile:
    return Profile(_one_of(*Profile)(value))


def _apis(value: Any) -> tuple[str, ...]:
    return known_apis(_names(value))


def _folders(value: Any) -> tuple[Path, ...]:
    return tuple(map(Path, _names(value)))


File = Annotated[Path | None, Path]
Folders = Annotated[tuple[Path, ...], _folders]
Names = Annotated[tuple[str, ...], _names]
Port = Annotated[int, _number(int, 0, 65_535)]
Seconds = Annotated[float, _number(float, 0.001, 1_000_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How the webhook serves."""

    host: Annotated[str, str] = "127.0.0.1"
    listen_port: Port = 9443
    tls_dir: Annotated[Path, Path]
    profile: Annotated[Profile, _profile] = Profile.STANDARD
    policies: Folders = ()
    """Folders of APIs, laid out as ``policies/``, beside the built-in ones; reloaded on change."""
    only_policies: File = None
    """Such a folder, to use instead of the built-in one; ``policies`` are added to it."""
    admission_policies: File = None
    """A folder of Kubernetes' own policies (ValidatingAdmissionPolicy and MutatingAdmissionPolicy) with their bindings
    and params, evaluated beside the built-in rules; reloaded on change."""
    policies_poll_seconds: Seconds = 5.0
    """How often to check those folders. The kubelet updates a mounted ConfigMap within a minute."""
    drain_seconds: Annotated[float, _number(float, 0, 600)] = 10.0
    """How long to serve after SIGTERM: longer than endpoints need to leave every kube-proxy."""
    tls_poll_seconds: Seconds = 5.0
    """How often to check the certificate files. A mounted Secret changes by a symlink: inotify loses track of it."""
    health_port: Port = 0
    """The port of health and metrics; 0: on the port of the webhooks."""
    health_tls: Annotated[bool, _flag] = False
    """Serve that port over TLS, with the same certificate. The kubelet and Prometheus expect plain HTTP."""

    caller: Literal["none", "mtls", "token"] = "none"
    """How callers of the webhooks prove who they are."""
    client_ca: File = None
    """For mtls: a file with the CAs of client certificates; reloaded on change."""
    client_name: Names = ()
    """For mtls: allowed common names or alternative names. For token: subjects that need no attestation."""
    token_audience: Names = ()
    """For token: addresses of the webhooks without a path, such as ``https://NAME.NAMESPACE.svc:443``."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """What to log, by Modelgate and by uvicorn."""

    log_format: Literal["text", "json"] = "text"
    """How to write log lines."""
    log_users: Literal["name", "hash", "none"] = "name"
    """How the log names who has asked for an object that is refused."""
    metrics_namespaces: Annotated[int, _number(int, 0, 1_000)] = 0
    """So many namespaces are a label of the findings; 0: none."""
    trace_endpoint: Annotated[str, _matching("(https?://.+)?")] = ""
    """The OTLP collector of traces, over HTTP; empty: no traces."""

    view: Literal["none", "live"] = "none"
    """Which other objects rules can see: none, or those of the cluster."""
    view_kubeconfig: File = None
    """The cluster's kubeconfig; without it, the in-cluster configuration of the pod."""
    view_stale_seconds: Seconds = 180.0
    """The server is not ready after this time without an event of a kind: bookmarks come once a minute, and three are
    missing."""

    without: Annotated[tuple[str, ...], _apis] = ()
    """The APIs that this installation does not cover: their kinds are neither watched nor judged."""

    fleet_stage: Annotated[str, _matching(_LABEL_VALUE)] = ""
    """The stage of this cluster among others that are to be alike, such as ``canary``."""
    fleet_artefact: Annotated[str, _matching(_LABEL_VALUE)] = ""
    """The artefact with packs, policies and exceptions that it is to use: a version or a digest."""

    pod: Annotated[str, _matching(_POD)] = ""
    """The pod of this server, as ``NAMESPACE/NAME/UID``: rules and policies that are refused are Events about it."""

    facts: FactSettings = DEFAULT_SETTINGS
    """Which behaviour to follow where an API has more than one correct behaviour; each has its own name, such as
    MODELGATE_OME."""

    @classmethod
    def of(cls, flags: Mapping[str, Any], environment: Mapping[str, str]) -> Settings:
        """Settings from flags (None: not given), then environment variables, then defaults.

        Raises:
            SettingsError: with every setting that is unknown or invalid.
        """
        given: dict[str, Any] = {}
        for name, value in environment.items():
            if name.startswith(PREFIX) and not name.startswith(FOREIGN):
                given[name.removeprefix(PREFIX).lower()] = value
        given.update({name: value for name, value in flags.items() if value is not None})
        given.setdefault("host", default_host(environment))
        facts = {each.name: given.pop(each.name) for each in fields(FactSettings) if each.name in given}
        problems: list[Problem] = []
        read = dict(_read(given, problems))
        read["facts"] = _facts(facts, problems)
        if problems:
            raise SettingsError(problems)
        settings = cls(**read)
        if conflicts := list(settings._conflicts()):
            raise SettingsError(conflicts)
        return settings

    def _conflicts(self) -> Iterator[Problem]:
        """What does not go with another setting."""
        if self.health_port and self.health_port == self.listen_port:
            yield _problem("health_port", "must differ from --port")
        for name, caller in (("client_ca", "mtls"), ("token_audience", "token")):
            if self.caller == caller and not getattr(self, name):
                yield _problem(name, f"is required by --caller={caller}")


def _read(given: Mapping[str, Any], problems: list[Problem]) -> Iterator[tuple[str, Any]]:
    """The settings that are given, as they are used; what is wrong is added to the problems."""
    hints = get_type_hints(Settings, include_extras=True)
    reads = {name: _reader(hint) for name, hint in hints.items() if hint is not FactSettings}
    for name, read in reads.items():
        try:
            if name in given:
                yield name, read(given[name])
        except ValueError as error:
            problems.append(_problem(name, str(error)))
    problems += [] if given.get("tls_dir") else [_problem("tls_dir", "is required")]
    problems += [_problem(name, "unknown setting") for name in given if name not in reads]


def _reader(hint: Any) -> Read:
    if get_origin(hint) is Literal:
        return _one_of(*get_args(hint))
    read: Read = hint.__metadata__[0]
    return read


def _facts(given: dict[str, Any], problems: list[Problem]) -> FactSettings:
    """The settings of the operators; what is wrong is added to the problems."""
    given = {"nodes": "off", **given}  # a gate watches them only if it is told to
    if (settings := by_nodes(given)) is not None:
        return settings
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - see above: few servers have others

    try:
        return TypeAdapter(FactSettings).validate_python(folded(given))
    except ValidationError as error:
        problems += [
            _problem(str(item["loc"][-1]), item["msg"].removeprefix("Value error, ")) for item in error.errors()
        ]
    except ValueError as error:
        problems.append(Problem(f"--set ({PREFIX}OPERATORS)", "", str(error)))
    return DEFAULT_SETTINGS


def _problem(name: str, message: str) -> Problem:
    return Problem(f"--{name.replace('_', '-')} ({PREFIX}{name.upper()})", "", message)
