"""A policy of another program as Kubernetes' own documents, and what cannot be translated of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from webhook.admission.errors import CatalogError
from webhook.manifests.documents import Document
from webhook.policy import Release
from webhook.vap import NativePolicies

_FOREIGN: Final = "undeclared reference to '"


class Untranslated(NamedTuple):
    """What does not translate: the document and the path in it, and why. ``whole`` leaves out the whole policy."""

    document: Document
    path: str
    reason: str
    whole: bool = True

    def __str__(self) -> str:
        line = self.document.line_at(self.path) if self.path else self.document.line
        metadata = self.document.value.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        title = f"{self.document.value.get('kind')} {name}"
        outcome = "not converted" if self.whole else "differs"
        at = f"{self.path}: " if self.path else ""
        return f"{self.document.source}:{line}: {title}: {outcome}: {at}{self.reason}"


@dataclass(frozen=True, slots=True)
class Converted:
    """The documents of one policy: the policy itself and its binding; none if it is left out.

    ``origin`` is what it is made of. ``moved`` maps the paths of parts of the policy to the document and the path that
    they come from; every other part has the same path in ``origin``.
    """

    origin: Document
    documents: tuple[dict[str, Any], ...]
    remarks: tuple[Untranslated, ...] = ()
    moved: Mapping[str, tuple[Document, str]] | None = None

    @property
    def is_whole(self) -> bool:
        """Whether nothing keeps it from being converted."""
        return not any(remark.whole for remark in self.remarks)

    def refusals(self, release: Release) -> Iterator[Untranslated]:
        """What the API server would say of the documents, at the places that they come from."""
        major, minor = release.version
        loaded = [Document("", 1, document) for document in self.documents]
        try:  # a new expression may use what the minor before has
            NativePolicies.load(loaded, (major, minor - 1), stored=False)
        except CatalogError as error:
            reasons = dict[str, list[str]]()
            for problem in error.problems:
                path = problem.path.partition(": ")[2]  # after the kind and the name
                reasons.setdefault(path, []).append(problem.message)
            for path, messages in reasons.items():
                yield Untranslated(*self._source(path), _reason(messages))

    def _source(self, path: str) -> tuple[Document, str]:
        part = max((part for part in self.moved or () if path.startswith(part)), key=len, default="")
        if not part or self.moved is None:
            return self.origin, path
        document, place = self.moved[part]
        return document, place + path[len(part) :]


def _reason(messages: Iterable[str]) -> str:
    """One sentence of what is wrong with one field."""
    texts = [" ".join(message.split()).partition(" (line ")[0] for message in messages]
    foreign = [text.partition(_FOREIGN)[2].partition("'")[0] for text in texts]
    names = ", ".join(dict.fromkeys(name for name in foreign if name))
    own = dict.fromkeys(text for text, name in zip(texts, foreign, strict=True) if not name)
    return "; ".join([*own, *([f"Kubernetes' admission policies do not have {names}"] if names else [])])


def bound(
    kind: str, name: str, spec: Mapping[str, Any], release: Release, actions: Any = None
) -> tuple[dict[str, Any], ...]:
    """A policy (``kind`` is "Validating" or "Mutating") and its binding, as documents."""
    binding = {"policyName": name} | ({"validationActions": actions} if actions else {})
    return tuple(
        {"apiVersion": release.api(kind), "kind": kind, "metadata": {"name": name}, "spec": dict(spec)}
        for kind, spec in ((f"{kind}AdmissionPolicy", spec), (f"{kind}AdmissionPolicyBinding", binding))
    )
