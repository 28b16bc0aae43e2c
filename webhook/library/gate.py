"""The gate as a Python object: what a cluster with Modelgate would say of an object."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from webhook import engine
from webhook.admission import review as wire
from webhook.admission.errors import CatalogError, DocumentError, LoadError, Malformed, Problem
from webhook.cluster import MemoryView
from webhook.engine import Options, Ruling
from webhook.facts.settings import DEFAULT_SETTINGS, Settings
from webhook.library.apiserver import Definitions, is_definition
from webhook.library.explained import Explanation, explained
from webhook.library.findings import Finding
from webhook.library.given import OBJECT, TEXT, Given, checked_settings, documents_of, every_document, profile_of
from webhook.library.judge import Judges, Surroundings, degrees_of, native, native_policies, own_definitions
from webhook.library.rulings import Rulings
from webhook.library.verdict import Verdict
from webhook.manifests.documents import Document

if TYPE_CHECKING:
    from webhook.library.pins import Pinned, Pins

Sources = Given | Iterable[Given]
"""One source of objects, or many."""

_FLAGS: Final = re.compile(
    r"\"(?:[^\"\\]|\\.)*\""  # what a manifest says
    r"|^(?P<flag>--release|--set) (?P<name>[\w.-]+)=(?P<value>.*)"
    r"|(?:\bset releases\.(?P<api>[\w-]+)\b)"
    r"|(?<=\b(?:give|with) )--crds\b|(?<=\buse )--(?:crds|view)\b|(?<=\bof )--admission-policies\b",
    re.DOTALL,
)
"""The words in which texts of rules and errors name flags, and texts in quotes, which stay."""
_NAMES: Final = {"--release": "releases", "--set": "operators"}


class Gate:
    """Judges objects as a cluster in which Modelgate is installed.

    A gate does not change, and many threads may use one. Making one takes about 0.1 s, the first judgement of a kind as
    long again, and each further one less than a millisecond.

    Args:
        view: the objects that there are: those that others refer to, those that are updated, and the Enforcements and
            PolicyExceptions that are in force, with the Namespaces whose labels they select.
        crds: CustomResourceDefinitions: of kinds that Modelgate does not know, or of another release of those it knows.
        policies: folders of APIs of your own, beside the built-in ones: ``<api>/<kind>.yaml`` and ``<api>/crds/``.
        admission_policies: a folder of ValidatingAdmissionPolicies and MutatingAdmissionPolicies, which count, too.
        profile: ``standard``, ``strict`` (denies by more rules) or ``audit`` (only warns).
        complete: whether an object that is not in the view does not exist. Otherwise it may, and a reference to it only
            gets a warning. Default: yes, if there is a view.
        settings: which behaviour of an API to follow, where there is more than one.
        repository: the folder of a repository. What it deploys of an operator says the release and the settings by
            which objects are judged, unless ``settings`` say more: for those in files the nearest one, for others that
            which counts at the top of the folder.

    Raises:
        LoadError: definitions, rules, admission policies or objects that cannot be read, with every problem.
        SettingsError: a setting or a profile that does not exist.
    """

    def __init__(
        self,
        *,
        view: Sources = (),
        crds: Sources = (),
        policies: str | Path | Sequence[str | Path] = (),
        admission_policies: str | Path | None = None,
        profile: Literal["standard", "strict", "audit"] = "standard",
        complete: bool | None = None,
        settings: Settings = DEFAULT_SETTINGS,
        repository: str | Path | None = None,
    ) -> None:
        settings, asked = checked_settings(settings), profile_of(profile)
        there = every_document(view)
        definitions = [*_definitions(crds), *(each for each in there if is_definition(each.value))]
        checked = Definitions.among(definitions)
        if checked.refused:
            raise CatalogError(list(_refused(definitions, checked)))
        folders = (policies,) if isinstance(policies, str | Path) else policies
        closed = bool(there) if complete is None else complete
        degrees = degrees_of(there)
        options = Options(
            asked, strict_fields=True, faults_told=True, complete=closed, settings=settings, degrees=degrees
        )
        with _words_of_errors():
            loaded = Ruling.of(options, map(Path, folders))

        def under_definitions(ruling: Ruling) -> Ruling:
            own = ruling.under([definition.value for definition in definitions], trusted=False)
            return own.extended([*checked.crds.values(), *own_definitions()])

        self._repository = None if repository is None else Path(repository)
        self._pins = _pins(self._repository, loaded) if self._repository else None
        self._rulings = Rulings(loaded, under_definitions, self._deployed if self._pins else None)
        self._ruling = self._rulings.of(Document(OBJECT, 1, {})).ruling
        self._there = Surroundings.of(there, self._rulings, checked)
        self._view = MemoryView(self._there.objects.values())
        self._policies = native_policies(None if admission_policies is None else Path(admission_policies))
        self._as_a_webhook = Options(
            asked,
            references=closed or bool(there),
            complete=closed,
            settings=self._ruling.options.settings,
            degrees=degrees,
            native=native(self._policies, self._ruling.catalog, self._there.objects.values(), complete=closed),
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is to be said of definitions of other releases, which rules do not apply to them, and of a repository
        that does not say which release it deploys.
        """
        pins = (*(self._pins.remarks if self._pins else ()), *self._rulings.remarks)
        return tuple(map(_text_in_words, map(str, (*self._rulings.deviations, *pins))))

    def _deployed(self, document: Document) -> Mapping[str, Pinned]:
        if self._pins is None or self._repository is None:
            return {}
        in_file = document.source not in {OBJECT, TEXT}
        return self._pins.of(Path(document.source) if in_file else self._repository / document.source)

    def check(self, given: Given) -> Verdict:
        """The verdict about one object: created, or updated if the view has it.

        Raises:
            DocumentError: what is given is not one object (:meth:`check_all`).
        """
        document = self._one(given)
        return _in_words(Verdict.of(self._judges([document]).review(document)))

    def check_all(self, given: Sources) -> list[Verdict]:
        """The verdicts about all objects of one or more sources, which may refer to each other.

        Raises:
            DocumentError: a source cannot be read.
        """
        found = every_document(given)
        judges = self._judges(found)
        return [_in_words(Verdict.of(judges.review(each))) for each in found]

    def explain(self, given: Given) -> Explanation:
        """Where each field of the stored object comes from, and what was chosen for it among other objects.

        Raises:
            DocumentError: as :meth:`check`.
        """
        document = self._one(given)
        judges = self._judges([document])
        judge = judges.of(document)
        return explained(judges.review(document), judge.view, judge.options.settings, judge.catalog)

    def admit(self, review: bytes, *, mutating: bool = False) -> bytes:
        """The reply to an AdmissionReview (``admission.k8s.io/v1``), as JSON, for a webhook server of one's own.

        ``mutating``: reply with a patch that fills in the defaults; otherwise with the verdict.

        Raises:
            Malformed: it is not an AdmissionReview, or contradicts itself: answer with HTTP 400.
        """
        if not isinstance(review, bytes):
            raise Malformed(f"the bytes of an AdmissionReview are expected, not {type(review).__name__}")
        version, request = wire.decode(review)
        decide = engine.mutate if mutating else engine.validate
        decision = decide(request, self._ruling.catalog, self._view, self._as_a_webhook)
        return wire.encode("mutate" if mutating else "validate", version, request, decision)

    def _one(self, given: Given) -> Document:
        found = documents_of(given)
        if len(found) != 1:
            said = "no object" if not found else f"{len(found)} objects: use check_all"
            raise DocumentError([Problem(found[0].source if found else "text", "", said)])
        return found[0]

    def _judges(self, given: list[Document]) -> Judges:
        return Judges(self._rulings, self._there, given, policies=self._policies)


def _pins(repository: Path, loaded: Ruling) -> Pins:
    from webhook.library.pins import Pins  # noqa: PLC0415 - most gates are of no repository

    return Pins.read(loaded.shipped.packs, (), [repository])


def _definitions(crds: Sources) -> list[Document]:
    """The definitions among what is given; of folders, the other objects do not count."""
    return [each for each in every_document(crds) if is_definition(each.value)]


def _refused(definitions: list[Document], checked: Definitions) -> Iterable[Problem]:
    for each in definitions:
        for cause in checked.refused.get(id(each), ()):
            yield Problem(each.where, cause.field, cause.message)


def _text_in_words(text: str) -> str:
    """A text with parameters of the library instead of flags."""
    return _FLAGS.sub(_parameter, text) if "--" in text or "releases." in text else text


def _parameter(flag: re.Match[str]) -> str:
    if flag["flag"]:
        return f"Settings({_NAMES[flag['flag']]}=(({flag['name']!r}, {flag['value']!r}),))"
    if flag["api"]:
        return f"set Settings(releases=(({flag['api']!r}, RELEASE),))"
    if flag[0].startswith('"'):
        return flag[0]
    return f"Gate({flag[0].removeprefix('--').replace('-', '_')}=…)"


def _in_words(verdict: Verdict) -> Verdict:
    """The verdict, whose texts name parameters of the library."""
    return replace(verdict, findings=tuple(map(_finding, verdict.findings)), note=_text_in_words(verdict.note))


def _finding(finding: Finding) -> Finding:
    return replace(finding, message=_text_in_words(finding.message), helps=tuple(map(_text_in_words, finding.helps)))


@contextmanager
def _words_of_errors() -> Iterator[None]:
    """Raise what is raised inside with parameters of the library in its problems."""
    try:
        yield
    except LoadError as error:
        problems = [
            Problem(_text_in_words(problem.source), problem.path, _text_in_words(problem.message))
            for problem in error.problems
        ]
        raise type(error)(problems) from None
