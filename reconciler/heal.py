"""Send an object without a valid stamp through the gate, and tell whether it may be acted on.

The gate stamps an object on any update, so an empty patch is enough. A stamp has no key: before one that matches the
object but is not what the gate writes is believed, a dry run that removes it must bring it back.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from reconciler.audit import Rules, Standing, Verdict
from reconciler.guard import trimmed
from reconciler.pace import Pace
from reconciler.resource import APIResource, Item
from reconciler.say.conditions import NORMALISED, Condition
from reconciler.writer import ApiError, Writer
from webhook.admission.stamp import ANNOTATION, UNSTAMPED, Stamp

__all__ = ["ABSENT", "OUTDATED", "REFUSED", "STAMPED", "Answer", "Healer"]

STAMPED: Final = "Stamped"
REFUSED: Final = "Refused"
ABSENT: Final = "GateAbsent"
OUTDATED: Final = "Outdated"

RESTAMPS: Final = 20.0
"""A second. After a change of the rules every object gets a new stamp: a gate answers a thousand a second, and etcd
writes some hundred, which others need, too."""

WITHOUT_STAMP: Final[dict[str, Any]] = {"metadata": {"annotations": {ANNOTATION: None}}}

_DECISIONS: Final = frozenset({400, 403, 422})
"""HTTP codes of a decision about the object; other errors do not concern it."""

_DENIED: Final = "denied the request"
"""Part of the API server's message for a refusal by a webhook or an admission policy."""

_OURS: Final = ".modelgate.dev"
"""The end of the names of the gate's webhooks."""


class Answer(NamedTuple):
    """The stored object, and whether it may be acted on. ``wait``: ask again then, in seconds; nothing is known yet."""

    obj: dict[str, Any]
    condition: Condition
    wait: float = 0.0


class Healer:
    """Remembers, for each object, the stamp that the gate itself has confirmed."""

    def __init__(self, api: Writer, clock: Callable[[], float] = time.monotonic) -> None:
        self._api = api
        self._pace = Pace(RESTAMPS, RESTAMPS, clock)
        self._confirmed: dict[Item, tuple[str, str, str]] = {}
        self._lock = threading.Lock()

    def forget(self, item: Item) -> None:
        self._pace.forget(item)
        with self._lock:
            self._confirmed.pop(item, None)

    def stand(self, item: Item, resource: APIResource, obj: dict[str, Any], verdict: Verdict, rules: Rules) -> Answer:
        """Whether the object may be acted on; a clean object without a valid stamp is healed first.

        Raises:
            ApiError: the API server does not answer, or the reconciler lacks the right to patch.
        """
        if not verdict.clean:
            return Answer(obj, Condition(NORMALISED, False, REFUSED, "\n".join(map(str, verdict.causes))))
        if verdict.standing is Standing.VALID or self._is_confirmed(item, obj, rules):
            return _passed(obj)
        wait = self._pace.turn(item) if verdict.standing is Standing.OUTDATED else 0.0
        if wait:
            return Answer(obj, _passed(obj).condition, wait)
        answer = self._ask(resource, obj, rules)
        if answer.condition.status:
            with self._lock:
                self._confirmed[item] = _identity(answer.obj, rules)
        return answer

    def _is_confirmed(self, item: Item, obj: dict[str, Any], rules: Rules) -> bool:
        stamp = Stamp.read(obj)
        return stamp is not None and stamp.matches(obj) and self._confirmed.get(item) == _identity(obj, rules)

    def _ask(self, resource: APIResource, obj: dict[str, Any], rules: Rules) -> Answer:
        place = obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
        try:
            if _claims(obj, rules):
                shown, warnings = self._api.merge_patch(resource, *place, WITHOUT_STAMP, dry_run=True)
                if _lacks(shown):
                    return Answer(obj, _unstamped(warnings))
                if _same(shown, obj):
                    return _passed(obj)
            stored, warnings = self._api.merge_patch(resource, *place, {})
        except ApiError as error:
            return Answer(obj, _refusal(error))
        stored, stamp = trimmed(stored, resource), Stamp.read(stored)
        if stamp is None or _lacks(stored):
            return Answer(stored, _unstamped(warnings))
        if (stamp.catalog, stamp.profile) != (rules.catalog.digest, rules.options.profile):
            return Answer(stored, Condition(NORMALISED, False, OUTDATED, _other_rules(stamp, rules)))
        return _passed(stored)


def _identity(obj: dict[str, Any], rules: Rules) -> tuple[str, str, str]:
    return obj["metadata"]["uid"], obj["metadata"]["annotations"][ANNOTATION], rules.digest


def _claims(obj: dict[str, Any], rules: Rules) -> bool:
    """Whether the object has a stamp of these rules that matches it."""
    stamp = Stamp.read(obj)
    current = stamp is not None and (stamp.catalog, stamp.profile) == (rules.catalog.digest, rules.options.profile)
    return current and not _lacks(obj)


def _lacks(obj: dict[str, Any]) -> bool:
    stamp = Stamp.read(obj)
    return stamp is None or not stamp.matches(obj)


def _same(shown: dict[str, Any], obj: dict[str, Any]) -> bool:
    annotated: list[str] = [each["metadata"]["annotations"][ANNOTATION] for each in (shown, obj)]
    return annotated[0] == annotated[1]


def _passed(obj: dict[str, Any]) -> Answer:
    text = "the specification is the one that the webhook stamped, and no rule refuses it"
    return Answer(obj, Condition(NORMALISED, True, STAMPED, text))


def _unstamped(warnings: list[str]) -> Condition:
    """The faults of an object that ratcheting alone lets pass; without any, the webhook did not run."""
    reasons = [text.removeprefix(UNSTAMPED) for text in warnings if text.startswith(UNSTAMPED)]
    if reasons:
        return Condition(NORMALISED, False, REFUSED, "\n".join(reasons))
    return _absent("the mutating webhook did not run")


def _refusal(error: ApiError) -> Condition:
    if error.status in _DECISIONS and not (error.status == 403 and _DENIED not in error.message):
        other = _DENIED in error.message and _OURS not in error.message
        start = "another admission policy refuses an update that changes nothing: " if other else ""
        return Condition(NORMALISED, False, REFUSED, f"{start}{error.message}")
    if error.status >= 500 and "webhook" in error.message:  # the webhook fails closed and does not answer
        return _absent(error.message)
    raise error


def _absent(why: str) -> Condition:
    return Condition(NORMALISED, False, ABSENT, f"not normalised, so the reconciler does not act on it: {why}")


def _other_rules(stamp: Stamp, rules: Rules) -> str:
    theirs, ours = (
        f"{stamp.catalog}, profile {stamp.profile}",
        f"{rules.catalog.digest}, profile {rules.options.profile}",
    )
    return f"the webhook has stamped it by rules {theirs}, but the reconciler judges by rules {ours}"
