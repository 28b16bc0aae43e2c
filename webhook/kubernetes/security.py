"""Security contexts of containers and pods: profiles, sysctls, Windows."""

from __future__ import annotations

import re
from typing import Final

from webhook.ground.fieldpath import FieldPath
from webhook.kubernetes.formats import relative_path
from webhook.kubernetes.judge import DATA, Judge, rule
from webhook.kubernetes.metadata import all_containers
from webhook.kubernetes.values import Json, field, flag, go_struct, structs, text, texts
from webhook.schema.fielderror import duplicate, forbidden, invalid, required, too_long

_SEGMENT: Final = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL: Final = rf"({_SEGMENT}[\./])*{_SEGMENT}"
_is_sysctl: Final = re.compile(_SYSCTL).fullmatch
_IPC: Final = frozenset(
    f"kernel.{name}"
    for name in ("sem", "shm", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "msg", "msgmax", "msgmnb", "msgmni")
)
_SWAPPED: Final = str.maketrans("./", "/.")
_NETBIOS: Final = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}').fullmatch
_DNS: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_is_domain: Final = re.compile(rf"{_DNS}(?:\.{_DNS})*").fullmatch
_has_control: Final = re.compile(r"[\x00-\x1f\x7f]").search
_has_bad_char: Final = re.compile(r'["/\\:;|=,+*?<>@\[\]]').search
_is_dots: Final = re.compile("[. ]+").fullmatch
_SPEC_KIB: Final = 64
_PROFILE_BYTES: Final = 4095
_PROFILE: Final = ("type", "localhostProfile")
_CONTEXT: Final = (
    *("capabilities", "privileged", "seLinuxOptions", "windowsOptions", "runAsUser", "runAsGroup", "runAsNonRoot"),
    *("readOnlyRootFilesystem", "allowPrivilegeEscalation", "procMount", "seccompProfile", "appArmorProfile"),
)
_BELOW: Final = {
    "capabilities": ("add", "drop"),
    "seLinuxOptions": ("user", "role", "type", "level"),
    "windowsOptions": ("gmsaCredentialSpecName", "gmsaCredentialSpec", "runAsUserName", "hostProcess"),
    "seccompProfile": _PROFILE,
    "appArmorProfile": _PROFILE,
}


def _shown(context: Json) -> Json:
    """The context as Go prints it."""
    below = {
        key: go_struct(item, _BELOW[key]) for key, item in context.items() if key in _BELOW and isinstance(item, dict)
    }
    if "seLinuxOptions" in below:
        below["seLinuxOptions"].update({name: item or "" for name, item in below["seLinuxOptions"].items()})
    return go_struct(context | below, _CONTEXT)


@rule("SecurityContext")
def _container(judge: Judge, value: Json, at: FieldPath) -> None:
    if judge.pod.host_users and value.get("procMount") == "Unmasked":
        why = "`hostUsers` must be false to use `Unmasked`"
        judge.add(invalid(at.child("procMount"), "Unmasked", why), only_if_complete=True)
    if flag(value, "allowPrivilegeEscalation") is not False:
        return
    if flag(value, "privileged"):
        why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        judge.add(invalid(at, _shown(value), why))
    if "CAP_SYS_ADMIN" in texts(field(value, "capabilities") or {}, "add"):
        why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
        judge.add(invalid(at, _shown(value), why))


@rule("SeccompProfile")
def _seccomp(judge: Judge, value: Json, at: FieldPath) -> None:
    kind, profile, path = text(value, "type"), value.get("localhostProfile"), at.child("localhostProfile")
    if kind != "Localhost":
        if isinstance(profile, str):
            shown = go_struct(value | {"type": kind}, _PROFILE)
            judge.add(invalid(path, shown, "can only be set when seccomp type is Localhost"))
    elif profile is None:
        judge.add(required(path, "must be set when seccomp type is Localhost"), only_if_complete=True)
    elif isinstance(profile, str):
        judge.add_invalid(relative_path(profile), profile, path)


@rule("AppArmorProfile")
def _app_armor(judge: Judge, value: Json, at: FieldPath) -> None:
    kind, profile, path = text(value, "type"), value.get("localhostProfile"), at.child("localhostProfile")
    if kind in ("RuntimeDefault", "Unconfined"):
        if isinstance(profile, str):
            judge.add(invalid(path, profile, "can only be set when AppArmor type is Localhost"))
    elif kind != "Localhost":
        return
    elif not isinstance(profile, str) or not profile:
        judge.add(required(path, "must be set when AppArmor type is Localhost"), only_if_complete=True)
    else:
        if profile != profile.strip():
            judge.add(invalid(path, profile, "must not be padded with whitespace"))
        if len(profile.encode(errors="replace")) > _PROFILE_BYTES:
            judge.add(too_long(path, _PROFILE_BYTES))


@rule("WindowsSecurityContextOptions")
def _windows(judge: Judge, value: Json, at: FieldPath) -> None:
    spec, user = value.get("gmsaCredentialSpec"), value.get("runAsUserName")
    if isinstance(spec, str):
        if not spec:
            judge.add(invalid(at.child("gmsaCredentialSpec"), spec, "gmsaCredentialSpec cannot be an empty string"))
        elif len(spec.encode(errors="replace")) > _SPEC_KIB * 1024:
            why = f"gmsaCredentialSpec size must be under {_SPEC_KIB} KiB"
            judge.add(invalid(at.child("gmsaCredentialSpec"), spec, why))
    if isinstance(user, str):
        for problem in _user_problems(user):
            judge.add(invalid(at.child("runAsUserName"), user, f"runAsUserName{problem}"))


def _user_problems(value: str) -> list[str]:
    domain, slash, user = value.rpartition("\\")
    if not value:
        return [" cannot be an empty string"]
    if _has_control(value):
        return [" cannot contain control characters"]
    if "\\" in domain:
        return [" cannot contain more than one backslash"]
    problems = []
    if len(domain.encode(errors="replace")) >= 256:
        problems.append("'s Domain length must be under 256 characters")
    if slash and not (_NETBIOS(domain) or _is_domain(domain)):
        problems.append("'s Domain doesn't match the NetBios nor the DNS format")
    if not user:
        problems.append("'s User cannot be empty")
    elif len(user.encode(errors="replace")) > 104:
        problems.append("'s User length must not be longer than 104 characters")
    if _is_dots(user):
        problems.append("'s User cannot contain only periods or spaces")
    if _has_bad_char(user):
        problems.append("'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return problems


def check_sysctls(judge: Judge, spec: Json, at: FieldPath) -> None:
    """``validateSysctls``: names, and none of a namespace that the pod shares with its node."""
    seen: set[str] = set()
    path = at.child("securityContext", "sysctls")
    for index, sysctl in structs(field(spec, "securityContext") or {}, "sysctls"):
        own, name = path.index(index).child("name"), text(sysctl, "name")
        if not name:
            judge.add(required(own))
        elif len(name.encode(errors="replace")) > 253 or not _is_sysctl(name):
            judge.add(invalid(own, name, f"must have at most 253 characters and match regex ^{_SYSCTL}$"))
        elif name in seen:
            judge.add(duplicate(own, name))
        seen.add(name)
        shared = {"net": "hostNetwork", "ipc": "hostIPC"}.get(_namespace(name), "")
        if shared and flag(spec, shared):
            judge.add(invalid(own, name, f"may not be specified when '{shared}' is true"))


def _namespace(sysctl: str) -> str:
    first = next((char for char in sysctl if char in "./"), ".")
    name = (sysctl.translate(_SWAPPED) if first == "/" else sysctl).partition("*")[0]
    if name.startswith("net."):
        return "net"
    return "ipc" if name in _IPC or name.startswith("fs.mqueue.") else ""


def check_host_process(judge: Judge, spec: Json, at: FieldPath) -> None:
    """``validateWindowsHostProcessPod``: all containers are host processes, or none is."""
    if judge.part:
        return
    pod, count, hosts = _host_process(spec), 0, 0
    for path, container in all_containers(spec, at):
        own = _host_process(container)
        count += 1
        hosts += bool(pod if own is None else own)
        if pod is not None and own is not None and pod != own:
            why = f"pod hostProcess value must be identical if both are specified, was {str(pod).lower()}"
            judge.add(invalid(path.child("securityContext", "windowsOptions", "hostProcess"), own, why))
    if hosts and hosts != count:
        why = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        judge.add(invalid(at, "", why))
    if hosts and not flag(spec, "hostNetwork"):
        why = "hostNetwork must be true if pod contains any hostProcess containers"
        judge.add(invalid(at.child("hostNetwork"), False, why))


def _host_process(value: Json) -> bool | None:
    return flag(field(field(value, "securityContext") or {}, "windowsOptions") or {}, "hostProcess")


def check_os(judge: Judge, spec: Json, at: FieldPath) -> None:
    """``validateLinux`` and ``validateWindows``: fields of the other system."""
    contexts = [(at.child("securityContext"), field(spec, "securityContext") or {}, DATA["windows"]["pod"])]
    contexts += [
        (path.child("securityContext"), field(container, "securityContext") or {}, DATA["windows"]["container"])
        for path, container in all_containers(spec, at, judge.runners)
    ]
    if judge.pod.os == "linux":
        for path, context, _ in contexts:
            if field(context, "windowsOptions") is not None:
                judge.add(forbidden(path.child("windowsOptions"), "windows options cannot be set for a linux pod"))
        return
    for path, context, keys in contexts:
        for key in keys:
            if context.get(key) is not None:
                judge.add(forbidden(path.child(key), "cannot be set for a windows pod"))
    if (field(spec, "securityContext") or {}).get("sysctls"):
        judge.add(forbidden(at.child("securityContext", "sysctls"), "cannot be set for a windows pod"))
    for key in ("hostUsers", "shareProcessNamespace"):
        if spec.get(key) is not None:
            judge.add(forbidden(at.child(key), "cannot be set for a windows pod"))
    for key in ("hostPID", "hostIPC"):
        if spec.get(key):
            judge.add(forbidden(at.child(key), "cannot be set for a windows pod"))
