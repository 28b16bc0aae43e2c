"""Why no runtime supports a model: the nearest runtimes with their reasons, and the others counted by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from webhook.facts.fact import cut_middle
from webhook.facts.ome.formats import FACETS, Facets, differences, lenient_fits
from webhook.facts.ome.lookup import Found
from webhook.facts.settings import Behaviour

__all__ = ["DISABLED", "NO_ACCELERATOR", "NO_AUTO_SELECT", "Excluded", "explained"]

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
"""Characters up to which a message names every runtime in upstream's words: for Modelgate's own behaviour only if there
are few."""
REASON: Final = 200
"""Characters of one reason: names of formats and versions are usually shorter than 30 each."""


class Excluded(NamedTuple):
    """A runtime that cannot be selected, and the reason in upstream's words."""

    runtime: Found
    reason: str


class _Near(NamedTuple):
    """A reason against a runtime. ``distance`` sorts the nearest first; ``sort`` names the reason in the counts."""

    distance: tuple[bool, int, bool, str]
    sort: str
    listed: str


def explained(
    head: str, model: Facets, excluded: Sequence[Excluded], looked_at: Sequence[Found], behaviour: Behaviour
) -> str:
    """One message.

    Args:
        head: its beginning, which names the model.
        model: the facets of the model.
        excluded: the runtimes to name or count, by name.
        looked_at: all runtimes; none if the message does not count them.
        behaviour: in whose words the reasons are written.
    """
    if looked_at:
        of_cluster = sum(runtime.cluster_scoped for runtime in looked_at)
        of_namespace = len(looked_at) - of_cluster
        plural = "" if len(looked_at) == 1 and behaviour is Behaviour.RECOMMENDED else "s"
        checked = f"{len(looked_at)} runtime{plural}"
        head += f". Checked {checked} ({of_namespace} namespace-scoped, {of_cluster} cluster-scoped)"
    if not excluded:
        return head
    if behaviour is not Behaviour.RECOMMENDED or len(excluded) <= NEAREST[1]:
        full = f"{head}. Excluded runtimes: {'; '.join(_listed(*each, behaviour) for each in excluded)}"
        if len(full) <= FULL:
            return full
    found = sorted(_near(model, each, behaviour) for each in excluded)
    shown = _shown([each.listed for each in found])
    return f"{head}. Excluded runtimes: {'; '.join(shown)}{_others(found[len(shown) :])}"


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
    words = words if behaviour is Behaviour.RECOMMENDED else reason
    listed = _listed(runtime, cut_middle(words, REASON), behaviour)
    return _Near((*distance, runtime.cluster_scoped, runtime.name), sort, listed)


def _listed(runtime: Found, reason: str, behaviour: Behaviour) -> str:
    if behaviour is Behaviour.RECOMMENDED:  # without the internal label of the model
        reason = reason.partition("not in supported formats: ")[2] or reason
    return f"{runtime.name}: {reason}" if behaviour is Behaviour.DOC_ERA else f"{runtime.name} ({reason})"


def _shown(listed: Sequence[str]) -> list[str]:
    least, most = NEAREST
    room, shown = ROOM, list[str]()
    for text in listed[:most]:
        room -= len(text)
        if room < 0 and len(shown) >= least:
            break
        shown.append(text)
    return shown


def _others(others: Sequence[_Near]) -> str:
    """The counts of the runtimes that are not named, the most frequent reason first."""
    if not others:
        return ""
    counts = sorted(Counter(each.sort for each in others).items(), key=lambda item: (-item[1], item[0]))
    listed = ", ".join(f"{number} by {reason}" for reason, number in counts)
    return f"; and {len(others)} more: {listed} (`modelgate check -v` lists all)"
