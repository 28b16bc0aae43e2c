"""The engine: one request in, one decision out. Pure, total, deterministic.

``mutate`` fills in what is absent and stamps the result; ``validate`` names everything that is
wrong. Neither reads a clock, a file or the network: what they need to know of the world comes
in as arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from webhook.admission.decision import Cause, Decision, Default, Warn
from webhook.admission.errors import Malformed
from webhook.admission.request import Request
from webhook.admission.stamp import ANNOTATION, UNSTAMPED, Stamp
from webhook.cel import Budget
from webhook.cluster import ClusterView
from webhook.engine.catalog import Catalog, KnownKind
from webhook.engine.defaulting import normalise
from webhook.engine.native import Native, refusals_as_warnings
from webhook.engine.validation import unknown_fields, validate_rules, validate_schema, without_specification
from webhook.facts.settings import DEFAULT_SETTINGS, Settings
from webhook.policy import Profile, Scope

__all__ = ["DEFAULT_OPTIONS", "Options", "mutate", "scope_of", "validate"]

OBJECT_BUDGET: Final = 10_000_000
"""CEL cost units for all rules of one object, about a second: the API server's limit for a custom resource."""

Checkpoint = Callable[[str], None]
"""Called with the name of each step before it runs; raises DeadlineExceeded where there is no time for it."""


def _no_deadline(_step: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Options:
    """How to decide.

    ``strict_fields``: a field that the API does not have is an error (what kubectl's validation
    makes of it) and not a warning (what a webhook can only meet where the installed CRD has the field).
    ``references``: the view shows other objects, so that one that is not in it is not there.
    ``settings``: what facts and rules do where an API has more than one right answer.
    ``native``: policies of Kubernetes' own that have a say, also in what our rules do not look at.
    """

    profile: Profile = Profile.STANDARD
    strict_fields: bool = False
    references: bool = True
    settings: Settings = DEFAULT_SETTINGS
    native: Native | None = None
    checkpoint: Checkpoint = _no_deadline


DEFAULT_OPTIONS: Final = Options()


def mutate(request: Request, catalog: Catalog, view: ClusterView, options: Options = DEFAULT_OPTIONS) -> Decision:
    """The object with every default, and the stamp. Only a native policy may refuse here.

    The order is that of a cluster: native policies, then we, as a webhook; where we have changed
    the object, those that want it see it once more, and so do we where they have.

    Raises:
        Malformed: the request names a resource that is not the kind's.
        Fault: a rule of ours could not be evaluated.
        DeadlineExceeded: from ``options.checkpoint``.
    """
    if options.native is None:
        return _default(request, catalog, view, options)
    ours: list[Decision] = []

    def webhook(obj: dict[str, Any] | None) -> dict[str, Any] | None:
        ours.append(_default(replace(request, object=obj), catalog, view, options))
        return ours[-1].object

    verdict = options.native.mutate(request, options.checkpoint, webhook)
    if verdict.allowed:
        return _merged(ours, verdict.object, catalog)
    if options.profile is not Profile.AUDIT:
        return Decision(request.object, verdict.causes)
    decision = _default(request, catalog, view, options)
    return replace(decision, warnings=(*refusals_as_warnings(verdict.causes), *decision.warnings))


def _merged(decisions: list[Decision], obj: dict[str, Any] | None, catalog: Catalog) -> Decision:
    """The last decision, with the defaults of all: the second time, those of the first are there already."""
    if len(decisions) == 1:
        return replace(decisions[0], object=obj)
    defaults = tuple({item.path: item for each in decisions for item in each.defaults}.values())
    audit = _audit_of_defaults(catalog, defaults) if decisions[-1].audit else {}
    return replace(decisions[-1], object=obj, defaults=defaults, audit=audit)


def _default(request: Request, catalog: Catalog, view: ClusterView, options: Options) -> Decision:
    known = _reviewed(request, catalog)
    obj = request.object
    if known is None or obj is None:
        return Decision(obj)
    options.checkpoint("defaults")
    records = _records(obj, request.old_object)
    result = normalise(
        known,
        obj,
        records,
        lambda current: scope_of(known, request, current, request.old_object, view, options.settings),
        request.old_object,
    )
    options.checkpoint("stamp")
    audit = _audit_of_defaults(catalog, result.defaults)
    if causes := _tolerated(replace(request, object=result.object), catalog, view, options):
        warnings = tuple(Warn("", f"{UNSTAMPED}{cause}") for cause in causes)
        stamp = Stamp.of_tolerated(catalog.digest, result.recorded)
        return Decision(_stamped(result.object, stamp), warnings=warnings, defaults=result.defaults, audit=audit)
    final = _stamped(result.object, Stamp.of(result.object, catalog.digest, result.recorded))
    return Decision(final, defaults=result.defaults, audit=audit)


def validate(request: Request, catalog: Catalog, view: ClusterView, options: Options = DEFAULT_OPTIONS) -> Decision:
    """Everything that is wrong with the object, and everything its user should know.

    Raises:
        Malformed, Fault, DeadlineExceeded: as :func:`mutate`.
    """
    decision = _judge(request, catalog, view, options)
    if options.native is None:
        return decision
    verdict = options.native.validate(request, options.checkpoint)
    refused, warnings = verdict.causes, (*decision.warnings, *verdict.warnings)
    if options.profile is Profile.AUDIT:
        refused, warnings = (), (*refusals_as_warnings(refused), *warnings)
    audit = {**decision.audit, **verdict.annotations}
    return Decision(request.object, (*decision.causes, *refused), warnings, audit=audit)


def _judge(request: Request, catalog: Catalog, view: ClusterView, options: Options) -> Decision:
    """What the rules of ours say."""
    known = _reviewed(request, catalog)
    if known is None or request.object is None:
        return Decision(request.object)
    options.checkpoint("schema")
    obj, unknown = known.schema.decode(request.object)
    old = known.schema.decode(request.old_object)[0] if request.old_object is not None else None
    budget = Budget(OBJECT_BUDGET)
    schema = validate_schema(known, obj, old, budget)
    options.checkpoint("policy")
    scope = scope_of(known, request, obj, old, view, options.settings)
    sound = not schema.causes
    rules = validate_rules(
        known,
        obj,
        old,
        scope,
        options.profile,
        sound=sound,
        references=options.references,
        checkpoint=options.checkpoint,
    )
    causes = [*schema.causes, *rules.causes]
    warnings = [*schema.notices, *rules.notices, *rules.warnings]
    if not causes:
        warnings += without_specification(known, obj)
    strangers = unknown_fields(known, request.object, unknown, [*causes, *warnings])
    if options.strict_fields:
        causes += [Cause(path, "FieldValueInvalid", f"unknown field{near}") for path, near in strangers]
    else:
        text = "unknown field: the gate neither checks nor defaults it"
        warnings += [Warn(path, f"{text}{near}") for path, near in strangers]
    if options.profile is Profile.AUDIT:
        warnings = [*refusals_as_warnings(tuple(causes)), *warnings]
        causes = []
    return Decision(request.object, tuple(causes), tuple(warnings), audit=_audit(catalog, causes, warnings))


def _records(obj: dict[str, Any], old: dict[str, Any] | None) -> list[dict[str, Any]]:
    """What earlier passes filled in: by the stored object's stamp, and by the object's own.

    A webhook is called again when a later one has changed the object: what we have just filled in
    is then recorded in the object only, by a hash that fits no more if the other one changed the
    specification. A record counts by the values that are still there, so a stale one does no harm.
    """
    stamps = (Stamp.read(each) for each in (old, obj) if each is not None)
    return [stamp.defaulted for stamp in stamps if stamp is not None]


def _tolerated(request: Request, catalog: Catalog, view: ClusterView, options: Options) -> tuple[Cause, ...]:
    """What is wrong with an object that may stay as it is only because it was so before (ratcheting).

    Its stamp matches nothing, so that who acts on stamped objects never meets it. An object that
    has been stamped once was right as a whole, and ``validate`` sees to what has changed since.
    """
    old = request.old_object
    if request.operation != "UPDATE" or old is None:
        return ()
    stamp = Stamp.read(old)
    if stamp is not None and stamp.matches(old):
        return ()
    return _judge(replace(request, operation="CREATE", old_object=None), catalog, view, options).causes


def _reviewed(request: Request, catalog: Catalog) -> KnownKind | None:
    """The kind, if the request is one the gate has a say in.

    Not: an unknown kind, a subresource, a deletion, an object that is being deleted (it must be
    able to lose its finalizers, whatever state it is in).
    """
    known = catalog.find(request.kind)
    if known is None or request.operation not in {"CREATE", "UPDATE"} or request.deleting:
        return None
    if request.resource and request.resource != known.plural:
        raise Malformed(f'request.resource is "{request.resource}", but {request.kind} is served as "{known.plural}"')
    return None if request.subresource else known


def scope_of(
    known: KnownKind,
    request: Request,
    obj: dict[str, Any],
    old: dict[str, Any] | None,
    view: ClusterView,
    settings: Settings = DEFAULT_SETTINGS,
) -> Scope:
    bindings = {
        "object": obj,
        "oldObject": old,
        "request": {
            "operation": request.operation,
            "name": request.name,
            "namespace": request.namespace,
            "dryRun": request.dry_run,
        },
    }

    def fact(name: str) -> Any:
        found = known.facts[name]
        if found.stored:
            return found.value(old or {}, view, settings)
        sent = request.object if found.raw else None
        return found.value(obj if sent is None else sent, view, settings)

    return Scope(known.policy, bindings, fact, Budget(OBJECT_BUDGET))


def _stamped(obj: dict[str, Any], stamp: Stamp) -> dict[str, Any]:
    """The object with the stamp; the object itself where it carries that stamp already."""
    metadata = obj.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(annotations, dict | None):
        return obj  # not an object that can carry an annotation: the API server refuses it
    text = stamp.encode()
    if annotations and annotations.get(ANNOTATION) == text:
        return obj
    return {**obj, "metadata": {**metadata, "annotations": {**(annotations or {}), ANNOTATION: text}}}


def _audit_of_defaults(catalog: Catalog, defaults: tuple[Default, ...]) -> dict[str, str]:
    filled = ",".join(f"{item.path}={item.code or 'schema'}" for item in defaults)
    return {"catalog": catalog.digest, **({"defaults": filled} if filled else {})}


def _audit(catalog: Catalog, causes: list[Cause], warnings: list[Warn]) -> dict[str, str]:
    """Audit annotations; the API server puts the webhook's name before each key."""
    found: list[Cause | Warn] = [*causes, *warnings]
    codes = dict.fromkeys(item.label for item in found)
    return {"catalog": catalog.digest, **({"codes": ",".join(codes)} if codes else {})}
