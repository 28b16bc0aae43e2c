"""Whole applications, as users apply them in one folder: fixtures/scenarios."""

from __future__ import annotations

from pathlib import Path

from webhook.manifests import documents
from webhook.manifests.documents import Document

FOLDER = Path(__file__).parent / "fixtures" / "scenarios"
SELF = "SELF"
NAMES = sorted(file.stem for file in FOLDER.glob("*.yaml"))


def scenario(name: str, namespace: str) -> list[Document]:
    """The objects of one, each after those that it refers to, with names that no other namespace has."""
    return documents.parse((FOLDER / f"{name}.yaml").read_text().replace(SELF, namespace), name)
