"""Send an object without a valid stamp through the gate, and tell whether it may be acted on.

The gate stamps an object on any update, so an empty patch is enough. A stamp has no key: before one that matches the
object but is not what the gate writes is believed, a dry run that removes it must bring it back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from reconciler.audit import Ruling, Standing
from reconciler.guard import trimmed
from reconciler.known import Known, Review
from reconciler.pace import Pace
from reconciler.say.conditions import NORMALISED, Condition
from reconciler.writer import Writer
from webhook.admission.stamp import ANNOTATION, UNSTAMPED, Stamp
from webhook.cluster import ApiError

STAMPED: Final = "Stamped"
REFUSED: Final = "Refused"
ABSENT: Final = "GateAbsent"
OUTDATED: Final = "Outdated"

PASSED: Final = Condition(
    NORMALISED, True, STAMPED, "the specification is the one that the webhook stamped, and no rule refuses it"
)

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
    """Whether an object may be acted on, and what is stored now. ``wait``: ask again then, in seconds; nothing is known
    yet.
    """

    condition: Condition
    obj: dict[str, Any]
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class Healer:
    """Asks the gate, at a pace."""

    api: Writer
    pace: Pace[Known]

    def check_stamp(self, review: Review) -> Answer:
        """Whether the object may be acted on; a clean object without a valid stamp is healed first.

        Raises:
            ApiError: the API server does not answer, or the reconciler lacks the right to patch.
        """
        obj, verdict, rules = review.obj, review.verdict, review.rules
        if not verdict.clean:
            return Answer(Condition(NORMALISED, False, REFUSED, "; ".join(map(str, verdict.causes))), obj)
        stamp = Stamp.matching(obj)
        confirmed = stamp is not None and review.known.confirmed == _identity(obj, rules)
        if verdict.standing is Standing.VALID or confirmed:
            return Answer(PASSED, obj)
        if verdict.standing is Standing.OUTDATED and (wait := self.pace.turn(review.known)):
            return Answer(PASSED, obj, wait)
        try:
            answer = self._ask(review, claims=stamp is not None and rules.wrote(stamp))
        except ApiError as error:
            return Answer(_refusal(error), obj)
        if answer.condition.status:
            review.known.confirmed = _identity(answer.obj, rules)
        return answer

    def _ask(self, review: Review, *, claims: bool) -> Answer:
        """Send it through the gate. ``claims``: it has a stamp of these rules that matches it."""
        obj, resource, rules = review.obj, review.resource, review.rules
        place = obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
        if claims:
            shown, warnings = self.api.merge_patch(resource, *place, WITHOUT_STAMP, dry_run=True)
            if Stamp.matching(shown) is None:
                return Answer(_unstamped(warnings), obj)
            if _identity(shown, rules) == _identity(obj, rules):
                return Answer(PASSED, obj)
        stored, warnings = self.api.merge_patch(resource, *place, {})
        stored, stamp = trimmed(stored, resource), Stamp.matching(stored)
        if stamp is None:
            return Answer(_unstamped(warnings), stored)
        return Answer(PASSED if rules.wrote(stamp) else _outdated(stamp, rules), stored)


def _identity(obj: dict[str, Any], rules: Ruling) -> tuple[str, str]:
    return obj["metadata"]["annotations"][ANNOTATION], rules.digest


def _unstamped(warnings: list[str]) -> Condition:
    """The faults of an object that ratcheting alone lets pass; without any, the webhook did not run."""
    reasons = [text.removeprefix(UNSTAMPED) for text in warnings if text.startswith(UNSTAMPED)]
    if reasons:
        return Condition(NORMALISED, False, REFUSED, "; ".join(reasons))
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


def _outdated(stamp: Stamp, rules: Ruling) -> Condition:
    theirs, ours = stamp.catalog, rules.catalog.digest
    text = f"the webhook has stamped it by rules {theirs}, but the reconciler judges by rules {ours}"
    return Condition(NORMALISED, False, OUTDATED, text)
