"""Which objects and files may deploy an operator, by their kinds, names and words: most trees have none."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from webhook.library.pins.operators import Operators
from webhook.library.pins.tree import Tree
from webhook.manifests.documents import Document
from webhook.manifests.reading import KUSTOMIZATIONS

CHART: Final = "Chart.yaml"
_DEPLOYING: Final = frozenset(
    {"Application", "ApplicationSet", "Deployment", "GitRepository", "HelmChart", "HelmRelease", "OCIRepository"}
)
_BESIDE: Final = frozenset({"ConfigMap", "Kustomization"})
"""Kinds of objects beside these: values, and what applies a source."""
_WORDS: Final = (*(kind.encode() for kind in sorted(_DEPLOYING)), b"releases:")
"""A file that may deploy an operator has one of these words, beside a name of the operator."""
_TERRAFORM: Final = ".tf"


def candidates(
    documents: Sequence[Document], operators: Operators, tree: Tree
) -> tuple[list[Document], list[tuple[Path, str]]]:
    """The objects that may deploy an operator, with those beside them, and the texts of Terraform; else nothing."""
    objects = [document for document in documents if document.value.get("kind") in _DEPLOYING]
    objects += tree.search(partial(_may_deploy, operators))
    programs = [
        (file, text.decode(errors="replace"))
        for file in tree.files
        if file.suffix == _TERRAFORM and b"helm_release" in (text := tree.content(file)) and operators.named_in(text)
    ]
    if objects or programs:
        objects += (document for document in documents if document.value.get("kind") in _BESIDE)
    return objects, programs


def _may_deploy(operators: Operators, file: Path, text: bytes) -> bool:
    """Whether a file may deploy an operator: by its name, or its words, and by a name of an operator in it."""
    is_one = file.name in {*KUSTOMIZATIONS, CHART} or any(map(text.__contains__, _WORDS))
    return is_one and file.suffix != _TERRAFORM and operators.named_in(text)
