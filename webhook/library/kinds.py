"""Kinds without a definition: which of them are mistakes, and why the others are not checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import Any, Final

from webhook.admission import Cause, GroupVersionKind, Warn
from webhook.catalog import Catalog
from webhook.facts import is_typo
from webhook.kubernetes import is_validated
from webhook.library.apiserver import is_builtin, kind_of
from webhook.library.unknown import is_encrypted, variables_of

NOT_KNOWN: Final = "not known to Modelgate"
"""Why an object is not judged whose kind is of no API with rules, and like none of them."""
_GIVE: Final = "give its CustomResourceDefinition with --crds"
_VERSION: Final = re.compile(r"v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?")
"""A version as Kubernetes' conventions have it (API versioning); a definition may serve one that has no rules."""


def concerns(kinds: Collection[GroupVersionKind]) -> Callable[[bytes], bool]:
    """A function that tells of a text that cannot be read whether it may be an object of these kinds.

    It is one if it names their group as ``apiVersion``, or one of the kinds but no ``apiVersion``.
    """
    groups = "|".join(sorted({re.escape(each.group) for each in kinds}))
    names = "|".join(sorted({re.escape(each.kind) for each in kinds}))
    version = re.compile(rf"apiVersion[\"']?\s*:\s*[\"']?(?:{groups})/".encode())
    kind = re.compile(rf"kind[\"']?\s*:\s*[\"']?(?:{names})\b".encode())

    def found(content: bytes) -> bool:
        text = content.replace(b"\0", b"")  # UTF-16
        return bool(version.search(text) or (b"apiVersion" not in text and kind.search(text)))

    return found


def unserved(
    gvk: GroupVersionKind, loaded: Catalog, defined: Collection[tuple[str, str]], *, strict: bool
) -> Cause | None:
    """The refusal of a kind or version, in kubectl's words; None if it may exist.

    A version that the definition of the kind does not serve does not exist (``defined`` are the group and kind of each
    definition that is given). Without its definition, any version of a kind with rules may exist, if it is well formed.
    The name of a kind is a mistake if it differs by one letter from a kind with rules. ``strict`` refuses all kinds and
    versions without a definition but those of the API server.
    """
    if loaded.find(gvk) is not None or _is_unknown(gvk):
        return None
    text = f'no matches for kind "{gvk.kind}" in version "{gvk.api_version}"'
    versions, is_defined = loaded.versions(gvk), (gvk.group, gvk.kind) in defined
    if not (is_defined or strict) and _is_other_version(gvk, loaded):
        return None
    if versions or is_defined:
        use = f": use {' or '.join(versions)}" if versions else ": its definition does not serve this version"
        return Cause("apiVersion", "FieldValueNotFound", f"{text}{use}")
    meant = _meant_by(gvk, loaded)
    if meant is not None:
        field, name = ("kind", meant.kind) if meant.group == gvk.group else ("apiVersion", _named(meant, gvk))
        return Cause(field, "FieldValueNotFound", f"{text}: did you mean {name}? Otherwise {_GIVE}")
    if strict and not is_builtin(gvk):
        return Cause("kind", "FieldValueNotFound", f"{text}: {_GIVE}{_similar(gvk, loaded)}")
    return None


def why_unchecked(gvk: GroupVersionKind, loaded: Catalog) -> str:
    """Why an object of a kind without a definition is not judged."""
    if _is_unknown(gvk):
        return "its kind or version is known when Flux has substituted and SOPS has decrypted it"
    if versions := loaded.versions(gvk):
        has = "has" if len(versions) == 1 else "have"
        return f"this version has no rules here ({' and '.join(versions)} {has}); {_GIVE}"
    has_rules = any(known.group == gvk.group for known in loaded.kinds)
    for pack in loaded.packs.values():
        if gvk.group in pack.successors and not has_rules:
            return f"no rules for {gvk.group}, the successor of {pack.successors[gvk.group]}; {_GIVE}"
        if gvk.kind in pack.served.get(gvk.group, ()):
            return f"a kind of {pack.operator} without rules; {_GIVE}"
    if is_validated(gvk.api_version, gvk.kind):
        return "a part of an object, such as a patch: its pods have no container or image, or its file is named so"
    return f"{NOT_KNOWN}{_similar(gvk, loaded)}"


def is_served(gvk: GroupVersionKind, loaded: Catalog) -> bool:
    """Whether the operator of an API serves this kind, which has no rules, in any release."""
    return any(gvk.kind in pack.served.get(gvk.group, ()) for pack in loaded.packs.values())


def _is_other_version(gvk: GroupVersionKind, loaded: Catalog) -> bool:
    """Whether the kind has rules, and this may be a version of it that has none."""
    return _VERSION.fullmatch(gvk.version) is not None and bool(loaded.versions(gvk))


def _is_unknown(gvk: GroupVersionKind) -> bool:
    return any(is_encrypted(each) or variables_of(each) for each in (gvk.api_version, gvk.kind))


def without_schema(gvk: GroupVersionKind, loaded: Catalog) -> Iterator[Warn]:
    """The warning that only admission policies judge an object, unless the fields of its kind are known."""
    if loaded.find(gvk) is None and not is_builtin(gvk):
        text = f"only policies are evaluated: the schema of {gvk.kind} is not known; use --crds{_similar(gvk, loaded)}"
        yield Warn("", text)


def without_rules(gvk: GroupVersionKind, loaded: Catalog) -> Iterator[Warn]:
    """The warning that no rule judges an object, because they are for other versions of its kind."""
    versions = loaded.with_rules(gvk) if gvk in loaded.kinds and not loaded.uncompiled(gvk).sources else ()
    if versions:
        has = "has" if len(versions) == 1 else "have"
        yield Warn(
            "apiVersion", f"this version has no rules ({' and '.join(versions)} {has}): only its schema is judged"
        )


def as_meant(value: dict[str, Any], loaded: Catalog) -> dict[str, Any]:
    """The object, of the kind that is meant if its own is misspelt."""
    gvk = kind_of(value)
    meant = None if loaded.find(gvk) or _is_other_version(gvk, loaded) else _meant_by(gvk, loaded)
    return value if meant is None else {**value, "apiVersion": meant.api_version, "kind": meant.kind}


def _meant_by(gvk: GroupVersionKind, loaded: Catalog) -> GroupVersionKind | None:
    """The kind with rules of which the group and the kind are a typo of one letter each.

    None for a kind that a project serves: a similar name is then no mistake.
    """
    if is_served(gvk, loaded):
        return None
    near = [each for each in loaded.kinds if _is_near(gvk, each) and is_typo(gvk.kind, each.kind)]
    near.sort(key=lambda each: (each.group != gvk.group, each.kind != gvk.kind))
    return next((each for each in near if not loaded.kinds[each].foreign), None)


def _is_near(written: GroupVersionKind, meant: GroupVersionKind) -> bool:
    """Whether a group is a typo of another one, or the kind is right and the group has a part too few or too many.

    Definitions have a group: ``apiVersion: v1`` or only a group is never that of one.
    """
    group = written.group
    parted = "." in group and (group.endswith(f".{meant.group}") or meant.group.endswith(f".{group}"))
    without = group == "" and not is_builtin(written)
    return is_typo(group, meant.group) or (written.kind == meant.kind and (parted or without))


def _similar(gvk: GroupVersionKind, loaded: Catalog) -> str:
    meant = None if is_served(gvk, loaded) else loaded.nearest(gvk)
    return f"; did you mean {meant.api_version} {meant.kind}?" if meant else ""


def _named(meant: GroupVersionKind, written: GroupVersionKind) -> str:
    return meant.api_version if meant.kind == written.kind else f"{meant.api_version} {meant.kind}"
