"""`.modelgate.yaml`: the flags of `check`, `normalise`, `explain` and `scan` for a repository."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from webhook.facts.settings import Behaviour, Settings

if TYPE_CHECKING:
    from webhook.cli.input.configurationfile import Configuration

__all__ = ["FILE", "add_arguments", "configured"]

FILE: Final = ".modelgate.yaml"
_SINGLE: Final = (
    "references",
    "fail_on",
    "docs_url",
    "kustomize",
    "manifests_only",
    "unknown_kinds",
    "min_checked",
    "strict",
)
"""Keys with one value that are named as their flags."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help=f"configuration (default: {FILE} in this folder, or in one above it within the repository)",
    )
    parser.add_argument("--no-config", action="store_true", help=f"read no {FILE}")


def configured(options: argparse.Namespace) -> argparse.Namespace:
    """The options, completed from the configuration.

    Raises:
        SettingsError: the configuration has a mistake.
    """
    path = options.config or (None if options.no_config else _nearest(Path.cwd()))
    content, given = _read(path), vars(options)
    for name, value in _choices(content):
        if given.get(name) is None:
            given[name] = value
    given.setdefault("exclude", [])
    given.setdefault("ignore", [])
    if path is None or content is None:
        return options
    folder = path.parent
    given["exclude"] = [*given["exclude"], *content.exclude]
    given["ignore"] = [*given["ignore"], *content.ignore]
    given["view"] = [*given["view"], *(folder / each for each in content.view)]
    given["crds"] = [*given["crds"], *(folder / each for each in content.crds)]
    if given.get("admission_policies") is None and content.admission_policies is not None:
        given["admission_policies"] = folder / content.admission_policies
    return options


def _read(path: Path | None) -> Configuration | None:
    if path is None:
        return None
    from webhook.cli.input.configurationfile import read  # noqa: PLC0415 - most folders have none

    return read(path)


def _choices(content: Configuration | None) -> Iterator[tuple[str, Any]]:
    """The options with one value, by the names of their flags."""
    yield "profile", content.profile.value if content and content.profile else None
    for name in _SINGLE:
        yield name, content and getattr(content, name)
    for each in fields(Settings):
        value = content and getattr(content.settings, each.name)
        yield each.name, value.value if isinstance(value, Behaviour) else value


def _nearest(folder: Path) -> Path | None:
    """The file in this folder or the nearest one above it, up to the root of the repository."""
    for each in (folder, *folder.parents):
        if (each / FILE).is_file():
            return each / FILE
        if (each / ".git").exists():
            return None
    return None
