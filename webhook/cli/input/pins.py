"""The pins of the repository that files are in: what it deploys of the operators of their objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from webhook.catalog import Catalog, Pack
from webhook.library.apiserver import kind_of
from webhook.library.pins import Pins
from webhook.library.rulings import Deployed
from webhook.manifests.documents import Document
from webhook.manifests.files import top_of
from webhook.manifests.reading import KUSTOMIZATIONS


def pins_of(documents: Sequence[Document], roots: Sequence[Path], catalog: Catalog) -> Pins | None:
    """The pins below these folders; None if there is no object of an operator."""
    operators = _operators(documents, catalog)
    return Pins.read(operators, documents, roots) if operators else None


def _operators(documents: Sequence[Document], catalog: Catalog) -> Mapping[str, Pack]:
    """The packs of the objects' kinds, by API: what is deployed of other operators does not matter."""
    gvks = {kind_of(document.value) for document in documents} & catalog.kinds.keys()
    apis = sorted({catalog.uncompiled(gvk).api for gvk in gvks})
    return {api: catalog.packs[api] for api in apis}


def roots_of(paths: Sequence[Path]) -> list[Path]:
    """The tops of the repositories of the paths; of a folder that is in no repository, the folder itself."""
    return [*dict.fromkeys(root for path in paths if (root := _root(path)) is not None)]


def deployed_by(pins: Pins | None) -> Deployed | None:
    """What pins say of a document, which goes by the place of its file, or of the kustomization that it is built of;
    None if there are no pins.
    """
    if pins is None or not pins.pins:
        return None
    return lambda document: pins.of(document.built / KUSTOMIZATIONS[0] if document.built else Path(document.source))


def _root(path: Path) -> Path | None:
    here = Path.cwd() if str(path) == "-" else path.resolve()
    return top_of(here) or (here if here.is_dir() else None)
