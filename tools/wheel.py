"""The wheel: one package, `modelgate`, in which `webhook`, `certs`, `reconciler`, `policies` and `packs` are.

Their names are too common to be loose in ``site-packages`` or on ``sys.path``. In a checkout they are folders at the
top, and modules import each other by these names; in the wheel each import says ``modelgate.webhook`` instead. No line
is added or removed, so that a traceback names the same line.
"""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGES: Final = ("webhook", "certs", "reconciler")
FOLDERS: Final = ("modelgate", *PACKAGES, "policies", "packs")
_NAME: Final = rf"(?:{'|'.join(PACKAGES)})"
_IMPORT: Final = re.compile(rf"^(\s*(?:from|import) )({_NAME})(?=[. ])", re.MULTILINE)
_TEXT: Final = re.compile(rf'(?<=")({_NAME}\.[a-z_.]+)(?=")')
"""A module that is imported by its name as a text."""
_KEPT: Final = {"__pycache__", ".compiled", "follow.yaml"}


def inside(text: str) -> str:
    """A module as it is in the wheel."""
    return _TEXT.sub(r"modelgate.\1", _IMPORT.sub(r"\1modelgate.\2", text))


class Wheel(BuildHookInterface[Any]):
    """Puts the packages below `modelgate`. An editable installation takes them from the checkout as they are."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        self._folder = TemporaryDirectory()
        top, made = Path(self.root), Path(self._folder.name)
        for file in sorted(each for name in FOLDERS for each in (top / name).rglob("*")):
            if file.is_dir() or _KEPT & set(file.parts):
                continue
            path = file.relative_to(top)
            source = file
            if file.suffix == ".py":
                source = made / path
                source.parent.mkdir(parents=True, exist_ok=True)
                source.write_text(inside(file.read_text(encoding="utf-8")), encoding="utf-8")
            build_data["force_include"][str(source)] = str(path if path.parts[0] == "modelgate" else "modelgate" / path)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        if version != "editable":
            self._folder.cleanup()
