"""What `modelgate pack check` says of descriptions of children.

Each is made in a case. The smallest object of a kind has children that the API server accepts, and no child is refused
for what its description alone decides. What is said of children in a case must be expected there, as any finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

from webhook.admission import GroupVersionKind
from webhook.admission.errors import DocumentError, Problem
from webhook.catalog import Catalog, KnownKind, forms
from webhook.children import Child
from webhook.cli.cases import run
from webhook.cli.pack.proofs import Placed
from webhook.cli.pack.smallest import smallest_object
from webhook.cluster import MemoryView
from webhook.engine import KUBERNETES_CODES, Options, described, description_faults
from webhook.library.review import decide
from webhook.manifests.documents import Document

Name: TypeAlias = tuple[GroupVersionKind, str]
"""A kind, and the name of one of its children."""


def child_problems(
    api: str, cases: Sequence[Placed], documents: Sequence[Document], loaded: Catalog
) -> Iterator[Problem]:
    """What is wrong with the descriptions of an API, and what no case proves of them."""
    unmade = dict.fromkeys(_described(api, loaded))
    if not unmade:
        return
    places, kinds = dict(_places(documents)), dict.fromkeys(kind for kind, _ in unmade)
    wrong = dict[tuple[Name, str], str]()
    for each in cases:
        for catalog, known, alone in each.under(loaded):
            if known.policy.children:
                request, options = run(alone, known, catalog).request, Options(settings=alone.settings)
                made = described(request, catalog, MemoryView(alone.others), options, assumed=True)
                for child in made:
                    unmade.pop((known.gvk, child.rule.name), None)
                for name, text in _constants(known, made, catalog):
                    wrong.setdefault((name, text), f"case {each.case.name!r}: ")
    for gvk in kinds:
        for name, text in _of_smallest(loaded.kinds[gvk], loaded):
            wrong.setdefault((name, text), "the smallest object: ")
    for (name, text), where in wrong.items():
        yield Problem(places.get(name, f"{api} {name[0].kind}"), name[1], f"{where}{text}")
    for name in unmade:
        message = f"no case has an object of which this child of {name[0].kind} is made: add one to cases/"
        yield Problem(places.get(name, ""), name[1], message)


def _described(api: str, loaded: Catalog) -> Iterator[Name]:
    """The children that are described for the kinds of an API, in every release."""
    for form in forms(loaded):
        for gvk in form.kinds:
            if form.uncompiled(gvk).api == api:
                yield from ((gvk, rule.name) for rule in form.kinds[gvk].policy.children)


def _places(documents: Sequence[Document]) -> Iterator[tuple[Name, str]]:
    for document in documents:
        spec: Mapping[str, Any] = document.value.get("spec") or {}
        target, rules = spec.get("target") or {}, spec.get("children")
        kinds = [target.get("kind"), *target.get("alsoKinds", ())]
        for index, rule in enumerate(rules if isinstance(rules, list) else ()):
            place = f"{document.source}:{document.line_of('spec', 'children', index)}"
            for version, kind in product(target["versions"], kinds):
                yield (GroupVersionKind(target["group"], version, kind), rule["name"]), place


def _constants(known: KnownKind, made: Sequence[Child], catalog: Catalog) -> Iterator[tuple[Name, str]]:
    for child, error in description_faults(made, catalog):
        text = f"the {child.rule.kind} is refused for what the description alone decides: {error.field}: {error.body()}"
        yield (known.gvk, child.rule.name), text


def _of_smallest(known: KnownKind, loaded: Catalog) -> Iterator[tuple[Name, str]]:
    """What is said of the children of the smallest object of a kind; of one that is refused, what is constant."""
    try:
        body = smallest_object(known)
    except DocumentError:  # it has no small one
        return
    metadata = {"name": "a", **({"namespace": "default"} if known.namespaced else {})}
    head = {"apiVersion": known.gvk.api_version, "kind": known.gvk.kind, "metadata": metadata}
    view, options = MemoryView(), Options()
    request, _, validation = decide({**head, **body}, None, known, loaded, view, options, assigned=True)
    wrong = [*_constants(known, described(request, loaded, view, options, assumed=True), loaded)]
    yield from wrong
    for each in validation.warnings if not (validation.causes or wrong) else ():
        if each.code in KUBERNETES_CODES:
            yield (known.gvk, each.code), str(each)
