"""Select a runtime for a model if a service names none: all candidates, their scores, and why others are excluded.

Runtimes of the namespace always come before those of the cluster. The rest differs by behaviour: see ``ranking``. If no
runtime supports a model, a message names the nearest ones with their reasons, and counts the others by reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from webhook.facts.fact import cut_middle
from webhook.facts.nodes import Referent, at, mapping, text, whole
from webhook.facts.ome.formats import FACETS, Facets, differences, facets_of, lenient_fits
from webhook.facts.ome.notation import range_of
from webhook.facts.ome.ranking import RANKINGS, Ranking
from webhook.facts.settings import Behaviour

NO_AUTO_SELECT: Final = "runtime does not have auto-select enabled"
DISABLED: Final = "runtime is disabled"
NO_ACCELERATOR: Final = "runtime does not support the required accelerator class"
_COUNTED: Final = {NO_AUTO_SELECT: "autoSelect", DISABLED: "disabled", NO_ACCELERATOR: "accelerator class"}
_NO_FORMATS: Final = "no supported formats defined"

NEAREST: Final = (3, 5)
"""At least and at most so many runtimes are named; more than the least only where they fit into :data:`ROOM`."""
ROOM: Final = 1000
"""Characters of the named runtimes. With the head and the counts, a refusal stays below 2,048."""
FULL: Final = 2048
"""Characters up to which a message names every runtime in upstream's words."""
SHORT: Final = 168
"""Characters of Modelgate's own message: with what to do, a finding has at most 250."""
NAME: Final = 32
"""Characters of the name of a model or a format in it."""
RUNTIME: Final = 20
"""Characters of the name of the nearest runtime in it, where all of it is too long."""
CAUSE: Final = 72
"""Characters of one reason in it."""
REASON: Final = 200
"""Characters of one reason: names of formats and versions are usually shorter than 30 each."""


class Excluded(NamedTuple):
    """A runtime that cannot be selected, and the reason in upstream's words."""

    runtime: Referent
    reason: str


class _Near(NamedTuple):
    """A reason against a runtime. ``distance`` sorts the nearest first; ``sort`` names the reason in the counts."""

    distance: tuple[bool, int, bool, str]
    sort: str
    listed: str


def explained(
    head: str, model: Facets, excluded: Sequence[Excluded], looked_at: Sequence[Referent], behaviour: Behaviour
) -> str:
    """One message.

    Args:
        head: its beginning, which names the model.
        model: the facets of the model.
        excluded: the runtimes to name or count, by name.
        looked_at: all runtimes; none if the message does not count them.
        behaviour: in whose words the reasons are written.
    """
    if behaviour is Behaviour.RECOMMENDED:
        return _in_short(head, sorted(_near(model, each, behaviour) for each in excluded), len(looked_at))
    if looked_at:
        of_cluster = sum(runtime.cluster_scoped for runtime in looked_at)
        of_namespace = len(looked_at) - of_cluster
        head += f". Checked {len(looked_at)} runtimes ({of_namespace} namespace-scoped, {of_cluster} cluster-scoped)"
    if not excluded:
        return head
    full = f"{head}. Excluded runtimes: {'; '.join(_listed(*each, behaviour) for each in excluded)}"
    if len(full) <= FULL:
        return full
    found = sorted(_near(model, each, behaviour) for each in excluded)
    shown = _shown([each.listed for each in found])
    return f"{head}. Excluded runtimes: {'; '.join(shown)}{_others(found[len(shown) :])}"


def _in_short(head: str, near: Sequence[_Near], count: int) -> str:
    """The reasons against the nearest of ``count`` runtimes within :data:`SHORT`, at least one, and how many more."""
    if not near:
        return head
    room = SHORT if len(near) == 1 else SHORT - len("; and 999 more")
    text = f"{head} among {count}" if count > 1 else head
    name, sign, reason = near[0].listed.partition(" (")
    left = room - len(text) - len(": ") - len(sign)
    if len(name) + len(reason) > left:  # the name of a runtime has less to say than the reason
        name = cut_middle(name, min(RUNTIME, left // 2))
        reason = cut_middle(reason, left - len(name) - len(" …"))
    text += f": {name}{sign}{reason}"
    for number, line in enumerate([each.listed for each in near[1:]], 1):
        if len(text) + len("; ") + len(line) > room:
            return f"{text}; and {len(near) - number} more"
        text += f"; {line}"
    return text


def _near(model: Facets, excluded: Excluded, behaviour: Behaviour) -> _Near:
    """How near a runtime is: first by its architecture, then by the number of differences in its nearest entry."""
    runtime, reason = excluded
    entries = [differences(model, entry, lenient_fits) for entry in FACETS(runtime.object)]
    nearest = min(entries, key=lambda parts: ("architecture" in parts, len(parts)), default=None)
    distance = nearest is None or "architecture" in nearest, len(nearest or ())
    if nearest is None:
        sort, words = "formats", _NO_FORMATS
    elif nearest:
        sort, words = next(iter(nearest)), ", ".join(nearest.values())
    else:
        sort, words = "model size" if reason.startswith("model size ") else "version", reason
    sort, words = (_COUNTED[reason], reason) if reason in _COUNTED else (sort, words)
    words = cut_middle(words, CAUSE) if behaviour is Behaviour.RECOMMENDED else cut_middle(reason, REASON)
    listed = _listed(runtime, words, behaviour)
    return _Near((*distance, runtime.cluster_scoped, runtime.name), sort, listed)


def _listed(runtime: Referent, reason: str, behaviour: Behaviour) -> str:
    if behaviour is Behaviour.RECOMMENDED:  # without the internal label of the model
        reason = reason.partition("not in supported formats: ")[2] or reason
    return f"{runtime.name}: {reason}" if behaviour is Behaviour.DOC_ERA else f"{runtime.name} ({reason})"


def _shown(listed: Sequence[str]) -> list[str]:
    least, most = NEAREST
    room, shown = ROOM, list[str]()
    for line in listed[:most]:
        room -= len(line)
        if room < 0 and len(shown) >= least:
            break
        shown.append(line)
    return shown


def _others(others: Sequence[_Near]) -> str:
    """The counts of the runtimes that are not named, the most frequent reason first."""
    if not others:
        return ""
    counts = sorted(Counter(each.sort for each in others).items(), key=lambda item: (-item[1], item[0]))
    listed = ", ".join(f"{number} by {reason}" for reason, number in counts)
    return f"; and {len(others)} more: {listed} (`modelgate check -v` lists all)"


FORMAT_WEIGHT: Final = 10
FRAMEWORK_WEIGHT: Final = 5


class Candidate(NamedTuple):
    """One evaluated runtime. ``reason`` is why it cannot be selected, "" if it can.

    ``rank`` orders the runtimes of one scope, the smallest first. Its last part is the name, which decides ties.
    """

    runtime: Referent
    reason: str = ""
    score: int = 0
    rank: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """The result. ``ranked`` are the runtimes that can be selected, the best first; ``error`` is why there are none.

    ``awaits`` are the fields of the model that are absent and decide which of several runtimes is selected.
    """

    ranked: tuple[Candidate, ...] = ()
    excluded: tuple[Candidate, ...] = ()
    error: str = ""
    awaits: str = ""

    @property
    def winner(self) -> Candidate | None:
        return self.ranked[0] if self.ranked else None

    @property
    def ties(self) -> tuple[Candidate, ...]:
        """Runtimes of the winner's scope that only differ from it by the name."""
        best = self.winner
        if best is None:
            return ()
        same = (best.runtime.cluster_scoped, best.rank[:-1])
        return tuple(each for each in self.ranked[1:] if (each.runtime.cluster_scoped, each.rank[:-1]) == same)


def select(
    model: Any,
    runtimes: Iterable[Referent],
    namespace: str,
    behaviour: Behaviour,
    accelerators: frozenset[str] = frozenset(),
    name: str = "",
    *,
    explain: bool = False,
) -> Selection:
    """Select a runtime for a model.

    Args:
        model: the spec of a model.
        runtimes: all runtimes, those of the namespace first.
        namespace: the namespace of the service, for messages.
        behaviour: the behaviour to follow.
        accelerators: the classes that the service requires (a field of later releases).
        name: the name of the model, for messages.
        explain: also return why each runtime is excluded, and a message if all are. This takes several times as long.
    """
    if not text(model, "modelFormat", "name"):
        return Selection(error="invalid model specification: modelFormat.name: model format name is required")
    ranking = RANKINGS[behaviour]
    facets = facets_of(model)
    considered = list(runtimes) if explain else _for_model(facets, runtimes, ranking)
    looked_at = [_candidate(model, facets, runtime, ranking, accelerators) for runtime in considered]
    ranked = _in_order(each for each in looked_at if not each.reason)
    if not explain:
        return Selection(tuple(ranked))
    excluded = sorted((each for each in looked_at if each.reason), key=lambda each: each.runtime.name)
    if ranked:
        return Selection(tuple(ranked), tuple(excluded))
    format_name = text(model, "modelFormat", "name")
    short = NAME if behaviour is Behaviour.RECOMMENDED else FULL
    head = f"no runtime found to support model {cut_middle(name, short)} with format {cut_middle(format_name, short)}"
    if behaviour is Behaviour.UPSTREAM_HEAD:  # it writes the name of the format instead of the model
        head = f"no runtime found to support model {format_name} with format {format_name}"
    return Selection((), tuple(excluded), _none(head, namespace, facets, looked_at, behaviour))


def _name(excluded: Excluded) -> str:
    return excluded.runtime.name


def _for_model(model: Facets, runtimes: Iterable[Referent], ranking: Ranking) -> list[Referent]:
    """The runtimes that match the model. Filter by sort first: of hundreds of runtimes only a few share it."""
    sort = ranking.sort(model)
    near = (runtime for runtime in runtimes if sort in ranking.sorts(runtime.object))
    return [runtime for runtime in near if ranking.supports(model, FACETS(runtime.object))]


def _in_order(candidates: Iterable[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda each: (each.runtime.cluster_scoped, each.rank))


def incompatible(model: Any, runtime: Referent, behaviour: Behaviour) -> str:
    """The reason why a named runtime does not support a model, "" if it does. autoSelect is not required."""
    return _unfit(model, facets_of(model), runtime, RANKINGS[behaviour], frozenset())


def _none(head: str, namespace: str, model: Facets, looked_at: Sequence[Candidate], behaviour: Behaviour) -> str:
    """Why no runtime can be selected."""
    excluded = sorted((Excluded(each.runtime, each.reason) for each in looked_at if each.reason), key=_name)
    runtimes = [each.runtime for each in looked_at] if behaviour is not Behaviour.DOC_ERA else []
    if behaviour is Behaviour.UPSTREAM_HEAD:  # a map by name: one of two scopes is lost
        excluded = list({each.runtime.name: each for each in excluded if each.reason != NO_AUTO_SELECT}.values())
        head = f"{head} in namespace {namespace}"
    return explained(head, model, excluded, runtimes, behaviour)


def _candidate(
    model: Any, facets: Facets, runtime: Referent, ranking: Ranking, accelerators: frozenset[str]
) -> Candidate:
    if reason := _unfit(model, facets, runtime, ranking, accelerators):
        return Candidate(runtime, reason)
    entries = ranking.chosen(facets, runtime)
    if not entries:
        return Candidate(runtime, NO_AUTO_SELECT)
    score = max(_score(model, entry) for entry in entries)
    if ranking.scored and score <= 0:
        return Candidate(runtime, NO_AUTO_SELECT)
    return Candidate(runtime, "", score, ranking.rank(model, runtime, score))


def _unfit(model: Any, facets: Facets, runtime: Referent, ranking: Ranking, accelerators: frozenset[str]) -> str:
    """The reason of the first filter that excludes a runtime, in upstream's order."""
    if runtime.disabled:
        return DISABLED
    if accelerators and not accelerators <= _accelerators(runtime):
        return NO_ACCELERATOR
    if reason := ranking.reason(facets, FACETS(runtime.object)):
        return reason
    size, sizes = text(model, "modelParameterSize"), range_of(runtime.spec)
    if size and sizes and not sizes.holds(size):
        return f"model size {size} is outside supported range {sizes}"
    return ""


def _accelerators(runtime: Referent) -> set[Any]:
    classes = at(runtime.spec, "acceleratorRequirements", "acceleratorClasses")
    return set(classes if isinstance(classes, list) else ())


def _score(model: Any, entry: dict[str, Any]) -> int:
    """The score of an entry for a model: its priority times the weights of the compared parts."""
    ours, theirs = mapping(model, "modelFormat"), mapping(entry, "modelFormat")
    priority = whole(entry, "priority")
    priority = 1 if priority is None else priority
    if not _scores(ours, theirs):
        return 0
    score = (whole(theirs, "weight") or FORMAT_WEIGHT) * priority
    framework, wanted = at(model, "modelFramework"), at(entry, "modelFramework")
    if framework is None and wanted is None:
        return score
    if framework is None or wanted is None or not _scores(framework, wanted):
        return 0
    return score + (whole(wanted, "weight") or FRAMEWORK_WEIGHT) * priority


def _scores(ours: Any, theirs: Any) -> bool:
    if text(ours, "name") != text(theirs, "name"):
        return False
    model, runtime = at(ours, "version"), at(theirs, "version")
    return not (model and runtime) or lenient_fits(model, runtime, text(theirs, "operator") or "Equal")
