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

__all__ = ["deployed_by", "operators_of", "pins_of"]


def operators_of(documents: Sequence[Document], catalog: Catalog) -> Mapping[str, Pack]:
    """The packs of the objects' kinds, by API: what is deployed of other operators does not matter."""
    gvks = {kind_of(each.value) for each in documents} & catalog.kinds.keys()
    apis = sorted({catalog.uncompiled(gvk).api for gvk in gvks})
    return {api: catalog.packs[api] for api in apis}


def pins_of(documents: Sequence[Document], paths: Sequence[Path], catalog: Catalog) -> Pins | None:
    """The pins of the repositories of the paths; None if there is no object of an operator.

    Of a path that is in no repository, those below it, if it is a folder.
    """
    operators = operators_of(documents, catalog)
    folders = dict.fromkeys(each for path in paths if (each := _root(path)) is not None)
    return Pins.read(operators, documents, [*folders]) if operators else None


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
