"""Select a runtime for a model if a service names none: all candidates, their scores, and why others are excluded.

Runtimes of the namespace always come before those of the cluster. The rest differs by behaviour: see ``ranking``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from webhook.facts.nodes import at, mapping, text, whole
from webhook.facts.ome.explanation import DISABLED, NO_ACCELERATOR, NO_AUTO_SELECT, Excluded, explained
from webhook.facts.ome.formats import FACETS, Facets, facets_of, lenient_fits
from webhook.facts.ome.lookup import Found
from webhook.facts.ome.notation import range_of
from webhook.facts.ome.ranking import RANKINGS, Ranking
from webhook.facts.settings import Behaviour

__all__ = ["Candidate", "Selection", "incompatible", "select"]

FORMAT_WEIGHT: Final = 10
FRAMEWORK_WEIGHT: Final = 5


class Candidate(NamedTuple):
    """One evaluated runtime. ``reason`` is why it cannot be selected, "" if it can.

    ``rank`` orders the runtimes of one scope, the smallest first. Its last part is the name, which decides ties.
    """

    runtime: Found
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
    runtimes: Iterable[Found],
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
    head = f"no runtime found to support model {name} with format {format_name}"
    if behaviour is Behaviour.UPSTREAM_HEAD:  # it writes the name of the format instead of the model
        head = f"no runtime found to support model {format_name} with format {format_name}"
    return Selection((), tuple(excluded), _none(head, namespace, facets, looked_at, behaviour))


def _name(excluded: Excluded) -> str:
    return excluded.runtime.name


def _for_model(model: Facets, runtimes: Iterable[Found], ranking: Ranking) -> list[Found]:
    """The runtimes that match the model. Filter by sort first: of hundreds of runtimes only a few share it."""
    sort = ranking.sort(model)
    near = (runtime for runtime in runtimes if sort in ranking.sorts(runtime.object))
    return [runtime for runtime in near if ranking.supports(model, FACETS(runtime.object))]


def _in_order(candidates: Iterable[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda each: (each.runtime.cluster_scoped, each.rank))


def incompatible(model: Any, runtime: Found, behaviour: Behaviour) -> str:
    """The reason why a named runtime does not support a model, "" if it does. autoSelect is not required."""
    return _unfit(model, facets_of(model), runtime, RANKINGS[behaviour], frozenset())


def _none(head: str, namespace: str, model: Facets, looked_at: Sequence[Candidate], behaviour: Behaviour) -> str:
    """Why no runtime can be selected."""
    excluded = sorted((Excluded(each.runtime, each.reason) for each in looked_at if each.reason), key=_name)
    if behaviour is Behaviour.DOC_ERA:
        return explained(head, model, excluded, (), behaviour)
    if behaviour is Behaviour.UPSTREAM_HEAD:  # a map by name: one of two scopes is lost
        excluded = list({each.runtime.name: each for each in excluded if each.reason != NO_AUTO_SELECT}.values())
    runtimes = [each.runtime for each in looked_at]
    return explained(f"{head} in namespace {namespace}", model, excluded, runtimes, behaviour)


def _candidate(model: Any, facets: Facets, runtime: Found, ranking: Ranking, accelerators: frozenset[str]) -> Candidate:
    if reason := _unfit(model, facets, runtime, ranking, accelerators):
        return Candidate(runtime, reason)
    entries = ranking.chosen(facets, runtime)
    if not entries:
        return Candidate(runtime, NO_AUTO_SELECT)
    score = max(_score(model, entry) for entry in entries)
    if ranking.scored and score <= 0:
        return Candidate(runtime, NO_AUTO_SELECT)
    return Candidate(runtime, "", score, ranking.rank(model, runtime, score))


def _unfit(model: Any, facets: Facets, runtime: Found, ranking: Ranking, accelerators: frozenset[str]) -> str:
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


def _accelerators(runtime: Found) -> set[Any]:
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
