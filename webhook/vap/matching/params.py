"""The params that a binding selects for a request (``generic/policy_dispatcher.go``, CollectParams)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webhook.vap.context import AdmissionContext
from webhook.vap.matching.selector import Selector
from webhook.vap.models import ParamKind, ParamRef

__all__ = ["ParamError", "collect"]

_NO_NAMESPACE = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"


class ParamError(Exception):
    """The params of a binding cannot be determined; failurePolicy decides."""


def collect(
    kind: ParamKind | None, ref: ParamRef | None, namespace: str, context: AdmissionContext
) -> Sequence[dict[str, Any] | None]:
    """The params of a policy, one for each evaluation. ``[None]``: the policy or the binding has no params.

    An empty list means that no param exists and that the binding allows it (``parameterNotFoundAction: Allow``).
    The kind of the params must be known.

    Raises:
        ParamError: with the API server's text.
    """
    if kind is None or ref is None:
        return [None]
    where = ""
    if context.is_namespaced(kind):
        where = ref.namespace or namespace
        if not where:
            raise ParamError(_NO_NAMESPACE)
    elif ref.namespace:
        raise ParamError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    found = _find(kind, ref, where, context)
    if not found and ref.parameterNotFoundAction == "Deny":
        raise ParamError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return [{"apiVersion": kind.apiVersion, "kind": kind.kind, **param} for param in found]


def _find(kind: ParamKind, ref: ParamRef, namespace: str, context: AdmissionContext) -> Sequence[dict[str, Any]]:
    if ref.name:
        param = context.param(kind, namespace, ref.name)
        return [] if param is None else [param]
    if ref.selector is None:
        raise ParamError("one of name or selector must be provided")
    selector = Selector.of(ref.selector)
    if selector.error:
        raise ParamError(selector.error)
    return context.params(kind, namespace, selector)
