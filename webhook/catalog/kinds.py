"""The kinds that the catalog knows: for each version its schema, its policy and its facts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from webhook.admission import GroupVersionKind
from webhook.catalog.applies import Foreign, Own
from webhook.catalog.packs import DOCUMENTED, NO_PACK, InForce, Pack
from webhook.catalog.references import facts_of
from webhook.catalog.settings import as_given, fact_of
from webhook.catalog.tables import fact_of_tables
from webhook.facts import KNOWN, Fact, FitOf, Knowledge
from webhook.facts.settings import Settings
from webhook.manifests.documents import Document
from webhook.policy import Policy, Prepared
from webhook.schema import CRD, Structural

if TYPE_CHECKING:
    from webhook.policy import PolicyDocument

NO_POLICY: Final = Policy("", {}, (), (), pod_owner="")


class PolicySource:
    """A policy as it was read, and where. A built-in one is read when it is first asked for.

    ``beside`` are the schemas of the other versions of the kind that it is for, where they differ.
    """

    def __init__(self, read: Callable[[], tuple[PolicyDocument, Document]], beside: Sequence[Structural] = ()) -> None:
        self._read = read
        self._parts: tuple[PolicyDocument, Document] | None = None
        self.beside = beside

    def _whole(self) -> tuple[PolicyDocument, Document]:
        parts = self._parts  # another thread may forget it
        if parts is None:
            parts = self._parts = self._read()
        return parts

    def forget(self) -> None:
        """Free the memory of what was read; it is read anew where it is needed, as for another release."""
        self._parts = None

    @cached_property
    def codes(self) -> tuple[str, ...]:
        return (self._parts or self._read())[0].codes

    @property
    def document(self) -> PolicyDocument:
        return self._whole()[0]

    @property
    def origin(self) -> Document:
        return self._whole()[1]


@dataclass(frozen=True, slots=True)
class KnownKind:
    """One version of one kind. ``api`` is the folder of its pack, "" without one; ``plural`` the resource in URLs.

    ``status`` tells whether /status is a subresource: the API server then drops the status on creation. ``replicas`` is
    the path that /scale changes, if that is a subresource. ``sources`` are the documents of the policy. ``own`` is the
    catalog's definition where another one is installed, whose schema is ``schema`` (:mod:`webhook.catalog.installed`);
    ``others`` are the kinds with such a definition that each fact reads.
    ``foreign`` is a kind that a user's CRD defines: it has no rules and gets no stamp, and only its schema counts.
    ``in_force`` is the release that the policy is compiled for, of the operator that the ``pack`` describes.
    ``documented`` is the same kind as the documented release has it, where another release is in force.
    ``is_unshaped``: the definition of the release in force is not known. ``own_facts`` are those that Python has, and
    the settings of the operator. ``fit`` says what an object asks of nodes, GPUs and storage. ``completed`` are
    settings with those of the release in force where none are given.
    """

    api: str
    gvk: GroupVersionKind
    plural: str
    namespaced: bool
    schema: Structural
    policy: Policy = NO_POLICY
    own_facts: Mapping[str, Fact] = field(default_factory=dict)
    status: bool = False
    replicas: str = ""
    sources: Sequence[PolicySource] = ()
    own: Own | None = None
    others: Mapping[str, Foreign] = field(default_factory=dict)
    foreign: bool = False
    in_force: InForce = DOCUMENTED
    documented: KnownKind | None = None
    is_unshaped: bool = False
    pack: Pack = NO_PACK
    fit: FitOf | None = None
    completed: Callable[[Settings], Settings] = as_given
    facts: Mapping[str, Fact] = field(init=False, compare=False, repr=False)
    """The facts that its rules read: those of the API, and the references of its policy."""

    def __post_init__(self) -> None:
        references = self.policy.references
        found = {**self.own_facts, **facts_of(references)} if references else self.own_facts
        object.__setattr__(self, "facts", found)

    @property
    def codes(self) -> frozenset[str]:
        """The codes of its rules, of every release, also of those that are not compiled."""
        return frozenset(code for source in self.sources for code in source.codes)

    @property
    def deviates(self) -> bool:
        """Whether the schema is that of another definition than the catalog's."""
        return self.own is not None

    @property
    def stated(self) -> Structural:
        """The schema that says where the parts of pods are: the catalog's, where the installed one leaves that open."""
        return self.schema if self.own is None else self.own.stated

    def seen(self, obj: dict[str, Any]) -> dict[str, Any]:
        """A decoded object as rules and facts read it."""
        return obj if self.own is None else self.own.seen(obj)


class Preparations:
    """The process's memory of what is prepared of each kind in use. A reload that changes no policy loses nothing."""

    def __init__(self) -> None:
        self._prepared: dict[GroupVersionKind, Prepared] = {}

    def of(self, kind: KnownKind) -> Prepared:
        """What is prepared of a kind; made anew for another policy or schema than before."""
        before = self._prepared.get(kind.gvk)
        if before is not None and before.policy is kind.policy and before.schema is kind.schema:
            return before
        functions = None if before is None or before.policy is not kind.policy else before.functions
        prepared = self._prepared[kind.gvk] = Prepared(kind.policy, kind.schema, functions, stated=kind.stated)
        return prepared

    def prepare_if_due(self) -> bool:
        """Generate the functions of one kind of which enough objects were judged; False if there is none."""
        return any(prepared.prepare_if_due() for prepared in [*self._prepared.values()])

    def keep(self, gvk: GroupVersionKind, prepared: Prepared) -> None:
        """Use what was prepared before, and read from a file."""
        self._prepared[gvk] = prepared


Compile = Callable[[KnownKind], KnownKind]


def _as_it_is(known: KnownKind) -> KnownKind:
    return known


class Kinds(Mapping[GroupVersionKind, KnownKind]):
    """The kinds of a catalog, ``listed`` as they were read. Each is compiled when it is first looked up, once.

    A command needs one or two of all. Kinds that are made from others share their ``preparations``.
    """

    def __init__(
        self,
        listed: Mapping[GroupVersionKind, KnownKind],
        compile_kind: Compile = _as_it_is,
        preparations: Preparations | None = None,
    ) -> None:
        self.listed = listed
        self.preparations = preparations or Preparations()
        self._compile = compile_kind
        self._compiled: dict[GroupVersionKind, KnownKind] = {}

    def __getitem__(self, gvk: GroupVersionKind) -> KnownKind:
        compiled = self._compiled.get(gvk)
        if compiled is None:  # two threads may both compile it; the first result counts
            compiled = self._compiled.setdefault(gvk, self._compile(self.listed[gvk]))
        return compiled

    def uncompiled(self, gvk: GroupVersionKind) -> KnownKind:
        """A kind whose rules may not be compiled yet."""
        return self.listed[gvk]

    def current(self, gvk: GroupVersionKind) -> KnownKind:
        """A kind as it is now: its rules are compiled if it was looked up before."""
        return self._compiled.get(gvk) or self.listed[gvk]

    def replaced(self, listed: Mapping[GroupVersionKind, KnownKind], compile_kind: Compile = _as_it_is) -> Kinds:
        """Other kinds. Those that are listed here, too, are compiled once for both, others by ``compile_kind``."""

        def compiled(known: KnownKind) -> KnownKind:
            return self[known.gvk] if known is self.listed.get(known.gvk) else compile_kind(known)

        return Kinds(listed, compiled, self.preparations)

    def with_rules(
        self,
        changes: Mapping[GroupVersionKind, KnownKind],
        compile_kind: Compile = _as_it_is,
        without: Collection[GroupVersionKind] = (),
    ) -> Kinds:
        """These kinds but for some, others with other rules, so that all are prepared anew."""
        listed = {**self.listed, **changes}
        other = self.replaced({gvk: each for gvk, each in listed.items() if gvk not in without}, compile_kind)
        other.preparations = Preparations()
        return other

    def __contains__(self, gvk: object) -> bool:
        return gvk in self.listed

    def __iter__(self) -> Iterator[GroupVersionKind]:
        return iter(self.listed)

    def __len__(self) -> int:
        return len(self.listed)


def kinds_of(api: str, crd: CRD, pack: Pack = NO_PACK) -> Iterator[KnownKind]:
    """The served versions of a definition, without policies."""
    of_api = KNOWN.get(pack.facts, Knowledge({}))
    facts = {
        **of_api.facts.get(crd.kind, {}),
        **fact_of(pack, pack.in_force),
        **fact_of_tables(pack.files.tables()),
    }
    fit = of_api.fits.get(crd.kind)
    for version in crd.versions.values():
        if version.served:
            gvk = GroupVersionKind(crd.group, version.name, crd.kind)
            namespaced = crd.scope == "Namespaced"
            known = KnownKind(api, gvk, crd.plural, namespaced, version.schema, own_facts=facts, status=version.status)
            yield replace(known, replicas=version.replicas, in_force=pack.in_force, pack=pack, fit=fit)
