"""Fill in defaults and stamp the result, beside Kubernetes' own mutating policies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from webhook.admission import Cause, Decision, Default, Request, Warn
from webhook.admission.stamp import ANNOTATION, UNSTAMPED, Stamp
from webhook.cluster import ClusterView
from webhook.engine.catalog import Catalog
from webhook.engine.defaulting import Normalised, normalise
from webhook.engine.native import refusals_as_warnings
from webhook.engine.options import DEFAULT_OPTIONS, Options
from webhook.engine.scope import reviewed_kind, scope_of
from webhook.engine.validation import judge

__all__ = ["mutate"]


def mutate(request: Request, catalog: Catalog, view: ClusterView, options: Options = DEFAULT_OPTIONS) -> Decision:
    """The object with every default, and the stamp. Only a native policy may refuse here.

    The order is a cluster's: native policies run first, then Modelgate, as a webhook. If Modelgate changes the object,
    policies that allow reinvocation run again; if they change it, Modelgate runs again, too.

    Raises:
        Malformed: the request names a resource that is not the kind's.
        Fault: a rule could not be evaluated.
        DeadlineExceeded: from ``options.checkpoint``.
    """
    if options.native is None:
        return _default(request, catalog, view, options)
    decisions: list[Decision] = []

    def webhook(obj: dict[str, Any] | None) -> dict[str, Any] | None:
        decisions.append(_default(replace(request, object=obj), catalog, view, options))
        return decisions[-1].object

    verdict = options.native.mutate(request, options.checkpoint, webhook)
    if verdict.allowed:
        return _merged(decisions, verdict.object, catalog)
    if not options.profile.denies:
        decision = _default(request, catalog, view, options)
        return replace(decision, warnings=(*refusals_as_warnings(verdict.causes), *decision.warnings))
    return Decision(request.object, verdict.causes)


def _merged(decisions: list[Decision], obj: dict[str, Any] | None, catalog: Catalog) -> Decision:
    """The last decision with the defaults of all: the second run finds those of the first already set."""
    if len(decisions) == 1:
        return replace(decisions[0], object=obj)
    defaults = tuple({item.path: item for each in decisions for item in each.defaults}.values())
    audit = _audit(catalog, defaults) if decisions[-1].audit else {}
    return replace(decisions[-1], object=obj, defaults=defaults, audit=audit)


def _default(request: Request, catalog: Catalog, view: ClusterView, options: Options) -> Decision:
    kind, obj = reviewed_kind(request, catalog), request.object
    if kind is None or obj is None:
        return Decision(obj)
    options.checkpoint("defaults")
    old = request.old_object
    result = normalise(
        kind,
        obj,
        _records(obj, old),
        lambda current: scope_of(kind, request, current, old, view, options.settings),
        old,
    )
    options.checkpoint("stamp")
    tolerated = _tolerated(replace(request, object=result.object), catalog, view, options)
    warnings = tuple(map(_not_stamped, tolerated))
    stamped = _stamped(result.object, _stamp(result, catalog, tolerated=bool(tolerated)))
    return Decision(stamped, warnings=warnings, defaults=result.defaults, audit=_audit(catalog, result.defaults))


def _records(obj: dict[str, Any], old: dict[str, Any] | None) -> list[dict[str, Any]]:
    """What earlier runs filled in: by the stored object's stamp, and by the object's own.

    The API server calls a webhook again when a later one has changed the object. The values of the first call are then
    recorded in the object only, and the stamp's hash is out of date if the specification has changed. An entry counts
    only while the object still holds its value, so an outdated record does no harm.
    """
    stamps = (Stamp.read(each) for each in (old, obj) if each is not None)
    return [stamp.defaulted for stamp in stamps if stamp is not None]


def _tolerated(request: Request, catalog: Catalog, view: ClusterView, options: Options) -> tuple[Cause, ...]:
    """What is wrong with an object that ratcheting alone lets pass.

    Its stamp matches nothing, so a reader of stamped objects never acts on it. An object that carries a valid stamp
    was valid as a whole, and ``validate`` checks what has changed since.
    """
    old = request.old_object
    if request.operation != "UPDATE" or old is None:
        return ()
    stamp = Stamp.read(old)
    if stamp is not None and stamp.matches(old):
        return ()
    return judge(replace(request, operation="CREATE", old_object=None), catalog, view, options).causes


def _not_stamped(cause: Cause) -> Warn:
    return Warn("", f"{UNSTAMPED}{cause}")


def _stamp(result: Normalised, catalog: Catalog, *, tolerated: bool) -> Stamp:
    if tolerated:
        return Stamp.of_tolerated(catalog.digest, result.recorded)
    return Stamp.of(result.object, catalog.digest, result.recorded)


def _stamped(obj: dict[str, Any], stamp: Stamp) -> dict[str, Any]:
    """The object with the stamp; the object itself if it carries that stamp already."""
    metadata = obj.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(annotations, dict | None):
        return obj  # it cannot carry an annotation: the API server refuses it
    text = stamp.encode()
    if annotations and annotations.get(ANNOTATION) == text:
        return obj
    return {**obj, "metadata": {**metadata, "annotations": {**(annotations or {}), ANNOTATION: text}}}


def _audit(catalog: Catalog, defaults: tuple[Default, ...]) -> dict[str, str]:
    filled = ",".join(f"{item.path}={item.code or 'schema'}" for item in defaults)
    return {"catalog": catalog.digest, **({"defaults": filled} if filled else {})}
