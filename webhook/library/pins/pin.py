"""A pin: the release and the settings of an operator, as a file of a repository writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from webhook.golang.errors import readable
from webhook.policy.ranges import version

_DIGEST: Final = re.compile(r"@?sha(?:256|512):[0-9a-fA-F]*$")
_VARIABLE: Final = re.compile(r"\$\{|\$\(|\$[A-Z_]|\{\{|<%|\bvar\.|\blocal\.")
_TAG: Final = re.compile(r"(?a)(?:refs/tags/)?v?(\d+\.\d+\.\d+(?:-rc\.?\d+)?)(?:\+[0-9A-Za-z.-]+)?")
_RANGE: Final = re.compile(r"(?a)v?\d+(?:\.(?:\d+|[xX*]))?(?:\.[xX*])?|[xX]|.*(?:[<>~^|,*]|\.[xX]\b| - |!=).*")
_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class Pin:
    """What one file says of an operator that it deploys.

    ``api`` is the name of its pack, ``place`` the file and line of the release, and ``file`` that of the deployment,
    whose folder says what is near. ``release`` is dotted numbers; "" with the reason in ``why``. ``settings`` are those
    of the pack that values and arguments give. ``deployment`` names the object, "" for manifests of the operator;
    ``patches``: the file only changes a deployment of this name that another file has.
    """

    api: str
    place: str
    file: Path
    release: str = ""
    why: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    deployment: str = ""
    patches: bool = False


@dataclass(frozen=True, slots=True)
class Pinned:
    """What is deployed of an operator for the objects of a file: ``release``, or in ``why`` the reason that there is no
    single one, with all ``places``. ``disputed`` are the names of settings with several values.
    """

    release: str
    settings: Mapping[str, object]
    places: tuple[str, ...]
    why: str = ""
    disputed: tuple[str, ...] = ()


class Named(NamedTuple):
    """A release, or why a text names none."""

    release: str = ""
    why: str = ""


def release_of(written: Any) -> Named:
    """The release that a version or a tag names: ``v0.9.19`` and ``0.9.19@sha256:…`` are 0.9.19."""
    if written is None or written == "":
        return Named(why="no version is written")
    if not isinstance(written, str):
        if isinstance(written, Mapping | list):
            return Named(why=f"a {'list' if isinstance(written, list) else 'map'} does not name a release")
        return Named(why=f"{json.dumps(written)[:_SHOWN]} is not a text: write the version in quotes")
    text = written.strip()
    shown = f'"{text[:_SHOWN]}{"…" if len(text) > _SHOWN else ""}"'
    if _VARIABLE.search(text):
        return Named(why=f"{shown} is a variable")
    text = _DIGEST.sub("", text).removeprefix("=").strip()
    if not text:
        return Named(why=f"{shown} is only a digest")
    tag = _TAG.fullmatch(text)
    if tag is not None and _is_release(tag[1]):
        return Named(tag[1])
    if _RANGE.fullmatch(text):
        return Named(why=f"{shown} is a range")
    return Named(why=f"{shown} does not name a release")


_is_release: Final = readable(version, ValueError)
