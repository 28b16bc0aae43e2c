"""The native policies of a set of documents: load them with all problems at once, evaluate them for each request."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from pydantic import ValidationError

from webhook.admission import Request
from webhook.admission.errors import CatalogError, Problem
from webhook.cel import COMPATIBLE
from webhook.manifests.documents import Document
from webhook.policy.problems import problem, problems
from webhook.vap.attributes import Attributes, resource_of
from webhook.vap.compiled import At, Compilation, Interrupt, selector_problems
from webhook.vap.context import AdmissionContext, References
from webhook.vap.dispatch import Binding, BoundPolicies, BoundPolicy
from webhook.vap.matching.matcher import Criteria, is_exempt
from webhook.vap.matching.selector import Selector
from webhook.vap.models import KINDS, MutatingBinding, MutatingPolicy, ValidatingBinding, ValidatingPolicy
from webhook.vap.mutating.dispatch import Webhooks, mutate, unchanged
from webhook.vap.mutating.mutator import Mutator, compile_mutator
from webhook.vap.response import PolicyResponse
from webhook.vap.stretch import weight
from webhook.vap.validating.dispatch import validate
from webhook.vap.validating.typecheck import KindsFor, SchemaOf, TypeWarning, type_warnings
from webhook.vap.validating.validator import Validator, compile_validator
from webhook.vap.validation import metadata_errors, spec_errors

VALIDATING: Final = "ValidatingAdmissionPolicy"
MUTATING: Final = "MutatingAdmissionPolicy"
P = TypeVar("P", Validator, Mutator)
ReadOf = Callable[[Document], References | None]


def _no_references(_origin: Document) -> References | None:
    return None


def is_native(document: Document) -> bool:
    """Whether :meth:`NativePolicies.load` reads a document."""
    group = str(document.value.get("apiVersion", "")).partition("/")[0]
    return group == "admissionregistration.k8s.io" and document.value.get("kind") in KINDS


@dataclass(frozen=True, slots=True)
class NativePolicies:
    """A set of policies with their bindings: immutable and thread-safe. ``NativePolicies()`` is the empty set.

    ``unbound`` are the policies without a binding (kind, name), which never apply. ``documents`` are the documents of
    the validating policies.
    """

    validators: BoundPolicies[Validator] = field(default_factory=BoundPolicies)
    mutators: BoundPolicies[Mutator] = field(default_factory=BoundPolicies)
    unbound: tuple[tuple[str, str], ...] = ()
    documents: tuple[ValidatingPolicy, ...] = ()

    @classmethod
    def load(
        cls,
        documents: Iterable[Document],
        version: tuple[int, int] = COMPATIBLE,
        *,
        stored: bool = True,
        references: ReadOf = _no_references,
    ) -> NativePolicies:
        """Read and compile policies and bindings.

        Args:
            documents: native documents (see :func:`is_native`).
            version: the Kubernetes minor whose CEL libraries the expressions can use.
            stored: whether they may use newer ones too, as policies that a cluster has already.
            references: the objects that a policy reads as ``refs``; raises CatalogError.

        Raises:
            CatalogError: all problems of all documents.
        """
        loader = _Loader(version, references, stored=stored)
        for document in documents:
            loader.read(document)
        loader.bind()
        if loader.problems:
            raise CatalogError(loader.problems)
        validators = BoundPolicies(_bound(loader.validators, loader.validating))
        mutators = BoundPolicies(_bound(loader.mutators, loader.mutating))
        unbound = (*_unbound(VALIDATING, validators), *_unbound(MUTATING, mutators))
        return cls(validators, mutators, unbound, tuple(loader.documents))

    def warnings(self, kinds_for: KindsFor, schema_of: SchemaOf) -> list[tuple[str, TypeWarning]]:
        """The type errors of the validating policies for the kinds they name, by policy (``status.typeChecking``).

        Args:
            kinds_for: the kinds of a resource; empty for an unknown resource.
            schema_of: the OpenAPI schema of a kind; None for an unknown kind.
        """
        references = {shared.name: shared.references for shared in (bound.policy.compiled for bound in self.validators)}
        return [
            (document.metadata.name, warning)
            for document in self.documents
            for warning in type_warnings(document, kinds_for, schema_of, references.get(document.metadata.name))
        ]

    def only(self, name: str) -> NativePolicies:
        """The policies of one name: at most one validating and one mutating policy."""
        validators = BoundPolicies(each for each in self.validators if each.policy.compiled.name == name)
        mutators = BoundPolicies(each for each in self.mutators if each.policy.compiled.name == name)
        return NativePolicies(validators, mutators)

    def validating(self, without: Collection[str] = ()) -> NativePolicies:
        """The validating policies but those of some names."""
        validators = BoundPolicies(each for each in self.validators if each.policy.compiled.name not in without)
        return replace(self, validators=validators, mutators=BoundPolicies())

    def may_mutate(self, request: Request, context: AdmissionContext) -> bool:
        """Whether a mutating policy is about the resource of a request. If not, :meth:`mutate` need not be called."""
        return self.mutators.may_match(resource_of(request), request.subresource, context)

    def may_validate(self, request: Request, context: AdmissionContext) -> bool:
        """Whether a validating policy is about the resource of a request."""
        return self.validators.may_match(resource_of(request), request.subresource, context)

    @staticmethod
    def weight(body: bytes) -> int:
        """The bytes of a usual review with as much in it as this one; see :meth:`affordable`."""
        return weight(body)

    def affordable(self, request: Request, context: AdmissionContext, limit: int, *, mutating: bool) -> int | None:
        """As :meth:`BoundPolicies.affordable`, for the mutating or the validating policies."""
        policies = self.mutators if mutating else self.validators
        return policies.affordable(resource_of(request), request.subresource, context, limit)

    def mutate(
        self,
        request: Request,
        context: AdmissionContext,
        interrupt: Interrupt | None = None,
        webhooks: Webhooks = unchanged,
    ) -> PolicyResponse:
        """Apply the mutating policies to the request's object.

        Long loops of expressions call ``interrupt`` at intervals; it ends them by returning True or by raising (a
        deadline). ``webhooks`` mutates the object after the policies, and again after a reinvocation.
        """
        attributes = Attributes.of(request)
        if not self.mutators or is_exempt(attributes) or request.object is None:
            return PolicyResponse(webhooks(request.object))
        return mutate(self.mutators, attributes, context, interrupt, webhooks)

    def validate(
        self, request: Request, context: AdmissionContext, interrupt: Interrupt | None = None
    ) -> PolicyResponse:
        """Evaluate the validating policies; ``interrupt`` as for :meth:`mutate`."""
        attributes = Attributes.of(request)
        if not self.validators or is_exempt(attributes):
            return PolicyResponse(request.object)
        return validate(self.validators, attributes, context, interrupt)


def _bound(policies: dict[str, P], bindings: dict[str, list[Binding]]) -> Iterator[BoundPolicy[P]]:
    """Sort by name. Kubernetes documents no order, but the order must be stable."""
    for name in sorted(policies):
        own = sorted(bindings.get(name, ()), key=lambda binding: binding.name)
        yield BoundPolicy(policies[name], tuple(own))


def _unbound(kind: str, policies: Iterable[BoundPolicy[P]]) -> Iterator[tuple[str, str]]:
    return ((kind, each.policy.compiled.name) for each in policies if not each.bindings)


def _identity(origin: Document) -> tuple[str, str]:
    metadata = origin.value.get("metadata")
    return str(origin.value.get("kind")), str(metadata.get("name")) if isinstance(metadata, dict) else ""


def _named(origin: Document, found: Problem) -> Problem:
    """Add the kind and name to a problem of a JSON document: many may be on one line."""
    if origin.is_yaml:
        return found
    return replace(found, path=f"{' '.join(_identity(origin))}: {found.path}")


class _Loader:
    def __init__(self, version: tuple[int, int], references: ReadOf, *, stored: bool) -> None:
        self.version, self.stored, self._references = version, stored, references
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
            self._seen.add(_identity(origin))  # so that its bindings are not reported as well
            return
        for at, message in (*metadata_errors(origin.value["metadata"]), *spec_errors(document)):
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
        try:
            references = self._references(origin)
        except CatalogError as error:
            self.problems += error.problems
            return
        compilation = Compilation(document, self.version, stored=self.stored, references=references)
        if isinstance(document, ValidatingPolicy):
            self.documents.append(document)
            self.validators[document.metadata.name] = compile_validator(document, compilation)
        else:
            self.mutators[document.metadata.name] = compile_mutator(document, compilation)
        for at, message in compilation.problems:
            self._problem(origin, at, message)

    def bind(self) -> None:
        """Assign the bindings to their policies, after all documents are read."""
        for origin, document in self._bindings:
            validating = isinstance(document, ValidatingBinding)
            kind = VALIDATING if validating else MUTATING
            name = document.spec.policyName
            if (kind, name) not in self._seen:
                self._problem(origin, ("spec", "policyName"), f'{kind} "{name}" does not exist')
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
