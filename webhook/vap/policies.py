"""All native policies of a set of documents: loaded with every problem at once, then asked for each request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from pydantic import ValidationError

from webhook.admission.errors import CatalogError, Problem
from webhook.admission.request import Request
from webhook.cel import COMPATIBLE
from webhook.manifests.documents import Document
from webhook.policy.problems import problem, problems
from webhook.vap.attributes import Attributes
from webhook.vap.context import Surroundings
from webhook.vap.head import At, Compilation, Interrupt, selector_problems
from webhook.vap.hooks import Binding, Hook
from webhook.vap.matching.matcher import Criteria, is_exempt
from webhook.vap.matching.selector import Selector
from webhook.vap.mistakes import metadata_mistakes, mistakes
from webhook.vap.models import KINDS, MutatingBinding, MutatingPolicy, ValidatingBinding, ValidatingPolicy
from webhook.vap.mutating.dispatch import Webhooks, mutate, unchanged
from webhook.vap.mutating.mutator import Mutator, compile_mutator
from webhook.vap.validating.dispatch import validate
from webhook.vap.validating.typecheck import KindsFor, SchemaOf, TypeWarning, type_warnings
from webhook.vap.validating.validator import Validator, compile_validator
from webhook.vap.verdict import Verdict

__all__ = ["NativePolicies", "is_native"]

VALIDATING: Final = "ValidatingAdmissionPolicy"
MUTATING: Final = "MutatingAdmissionPolicy"
P = TypeVar("P", Validator, Mutator)


def is_native(document: Document) -> bool:
    """Whether a document is one of those that :meth:`NativePolicies.load` reads."""
    group = str(document.value.get("apiVersion", "")).partition("/")[0]
    return group == "admissionregistration.k8s.io" and document.value.get("kind") in KINDS


@dataclass(frozen=True, slots=True)
class NativePolicies:
    """A set of policies with their bindings: immutable, and safe in many threads. ``NativePolicies()`` is none.

    ``unbound`` are the policies without a binding (kind, name), which never apply; ``documents``
    the validating policies as they are written.
    """

    validators: tuple[Hook[Validator], ...] = ()
    mutators: tuple[Hook[Mutator], ...] = ()
    unbound: tuple[tuple[str, str], ...] = ()
    documents: tuple[ValidatingPolicy, ...] = ()

    @classmethod
    def load(cls, documents: Iterable[Document], version: tuple[int, int] = COMPATIBLE) -> NativePolicies:
        """Read and compile policies and bindings.

        Args:
            documents: native documents (see :func:`is_native`).
            version: the Kubernetes minor whose expressions are understood, at least.

        Raises:
            CatalogError: with every problem of every document.
        """
        loader = _Loader(version)
        for document in documents:
            loader.read(document)
        loader.bind()
        if loader.problems:
            raise CatalogError(loader.problems)
        validators = tuple(_hooks(loader.validators, loader.validating))
        mutators = tuple(_hooks(loader.mutators, loader.mutating))
        unbound = (*_unbound(VALIDATING, validators), *_unbound(MUTATING, mutators))
        return cls(validators, mutators, unbound, tuple(loader.documents))

    def warnings(self, kinds_for: KindsFor, schema_of: SchemaOf) -> list[tuple[str, TypeWarning]]:
        """What the validating policies get wrong about the kinds they name, by policy (``status.typeChecking``).

        Args:
            kinds_for: the kinds of a resource, none for one that is not known.
            schema_of: the OpenAPI schema of a kind, None for one that is not known.
        """
        return [
            (document.metadata.name, warning)
            for document in self.documents
            for warning in type_warnings(document, kinds_for, schema_of)
        ]

    def only(self, name: str) -> NativePolicies:
        """The policies of one name: one of each sort at most."""
        validators = tuple(hook for hook in self.validators if hook.policy.head.name == name)
        mutators = tuple(hook for hook in self.mutators if hook.policy.head.name == name)
        return NativePolicies(validators, mutators)

    def mutate(
        self,
        request: Request,
        surroundings: Surroundings,
        interrupt: Interrupt | None = None,
        webhooks: Webhooks = unchanged,
    ) -> Verdict:
        """What the mutating policies make of the request's object.

        ``interrupt`` is asked now and then, in long loops of expressions, whether to give up; it may
        raise what is to be raised then (a deadline). ``webhooks`` is what mutates the object after
        the policies, and again where they are invoked once more because of it.
        """
        attributes = Attributes.of(request)
        if not self.mutators or is_exempt(attributes) or request.object is None:
            return Verdict(webhooks(request.object))
        return mutate(self.mutators, attributes, surroundings, interrupt, webhooks)

    def validate(self, request: Request, surroundings: Surroundings, interrupt: Interrupt | None = None) -> Verdict:
        """What the validating policies say about a request; ``interrupt`` as for :meth:`mutate`."""
        attributes = Attributes.of(request)
        if not self.validators or is_exempt(attributes):
            return Verdict(request.object)
        return validate(self.validators, attributes, surroundings, interrupt)


def _hooks(policies: dict[str, P], bindings: dict[str, list[Binding]]) -> Iterator[Hook[P]]:
    """By name: the order of a cluster, which nobody may rely on, but which is always the same."""
    for name in sorted(policies):
        bound = sorted(bindings.get(name, ()), key=lambda binding: binding.name)
        yield Hook(policies[name], tuple(bound))


def _unbound(kind: str, hooks: Iterable[Hook[P]]) -> Iterator[tuple[str, str]]:
    return ((kind, hook.policy.head.name) for hook in hooks if not hook.bindings)


def _identity(origin: Document) -> tuple[str, str]:
    metadata = origin.value.get("metadata")
    return str(origin.value.get("kind")), str(metadata.get("name")) if isinstance(metadata, dict) else ""


def _named(origin: Document, found: Problem) -> Problem:
    """The problem of a JSON document says whose it is: it has no lines by which to find that out."""
    return found if origin.node else replace(found, path=f"{' '.join(_identity(origin))}: {found.path}")


class _Loader:
    def __init__(self, version: tuple[int, int]) -> None:
        self.version = version
        self.problems: list[Problem] = []
        self.documents: list[ValidatingPolicy] = []
        self.validators: dict[str, Validator] = {}
        self.mutators: dict[str, Mutator] = {}
        self.validating: dict[str, list[Binding]] = {}
        self.mutating: dict[str, list[Binding]] = {}
        self._bindings: list[tuple[Document, ValidatingBinding | MutatingBinding]] = []
        self._seen: set[tuple[str, str]] = set()

    def read(self, origin: Document) -> None:
        model = KINDS.get(str(origin.value.get("kind")))
        if model is None:
            self._problem(origin, ("kind",), f"expected one of {', '.join(KINDS)}")
            return
        try:
            document = model.model_validate(origin.value)
        except ValidationError as error:
            self.problems += [_named(origin, found) for found in problems(origin, error)]
            self._seen.add(_identity(origin))  # what is bound to it is not to be blamed, too
            return
        for at, message in (*metadata_mistakes(origin.value["metadata"]), *mistakes(document)):
            self._problem(origin, at, message)
        identity = (document.kind, document.metadata.name)
        if identity in self._seen:
            self._problem(origin, ("metadata", "name"), f"{document.kind} {document.metadata.name} is given twice")
        self._seen.add(identity)
        if isinstance(document, (ValidatingBinding, MutatingBinding)):
            self._bindings.append((origin, document))
        else:
            self._compile(origin, document)

    def _compile(self, origin: Document, document: ValidatingPolicy | MutatingPolicy) -> None:
        compilation = Compilation(document, self.version)
        if isinstance(document, ValidatingPolicy):
            self.documents.append(document)
            self.validators[document.metadata.name] = compile_validator(document, compilation)
        else:
            self.mutators[document.metadata.name] = compile_mutator(document, compilation)
        for at, message in compilation.problems:
            self._problem(origin, at, message)

    def bind(self) -> None:
        """Give the bindings to their policies, once all are read."""
        for origin, document in self._bindings:
            validating = isinstance(document, ValidatingBinding)
            kind = VALIDATING if validating else MUTATING
            name = document.spec.policyName
            if (kind, name) not in self._seen:
                self._problem(origin, ("spec", "policyName"), f"there is no {kind} {name}")
            at: At = ("spec", "matchResources")
            if document.spec.matchResources is not None:
                for where, message in selector_problems(Criteria.of(document.spec.matchResources), at):
                    self._problem(origin, where, message)
            ref = document.spec.paramRef
            if ref is not None and ref.selector is not None and (error := Selector.of(ref.selector).error):
                self._problem(origin, ("spec", "paramRef", "selector"), error)
            bindings = self.validating if validating else self.mutating
            bindings.setdefault(name, []).append(Binding.of(document))

    def _problem(self, origin: Document, at: At, message: str) -> None:
        self.problems.append(_named(origin, problem(origin, at, message)))
