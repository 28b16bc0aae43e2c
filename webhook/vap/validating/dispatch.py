"""Evaluates all validating policies for a request (``policy/validating/dispatcher.go``)."""

from __future__ import annotations

import json
from typing import Final

from webhook.admission import Warn, one_line
from webhook.golang.strconv import quote
from webhook.vap.attributes import Attributes
from webhook.vap.compiled import Interrupt
from webhook.vap.context import AdmissionContext
from webhook.vap.dispatch import Binding, BoundPolicies, Misconfigured, invocations
from webhook.vap.response import CODES, FAILURE_KEY, Denial, PolicyResponse
from webhook.vap.validating.validator import PolicyDecision, Validator, ValidatorResult

_ANNOTATION_LIMIT: Final = 10 * 1024
"""Bytes of an audit annotation's value; the API server truncates it."""


def validate(
    policies: BoundPolicies[Validator],
    attributes: Attributes,
    context: AdmissionContext,
    interrupt: Interrupt | None = None,
) -> PolicyResponse:
    """Evaluate every policy that applies to the request."""
    collected = _Collected()
    for invoked in invocations(policies, attributes, context, interrupt):
        policy = invoked.policy
        if isinstance(invoked, Misconfigured):
            if not policy.compiled.ignore:
                collected.deny(policy.compiled.name, invoked.binding, PolicyDecision("deny", "error", invoked.message))
            continue
        result = policy.validate(invoked.invocation)
        refs = invoked.invocation.refs
        if refs is not None and refs.unknown:
            collected.warn(policy.compiled.name, invoked.binding, f"is not judged: {'; '.join(refs.unknown)}")
            result = result.without_errors()
        if result.applies:
            collected.result(policy.compiled.name, invoked.binding, result)
    return collected.response(attributes)


class _Collected:
    def __init__(self) -> None:
        self.denials: list[Denial] = []
        self.warnings: list[Warn] = []
        self.audit: dict[str, str] = {}
        self.annotations: dict[str, list[str]] = {}
        self.evaluated: dict[str, None] = {}

    def deny(self, policy: str, binding: Binding | None, decision: PolicyDecision) -> None:
        bound = "" if binding is None else f" with binding '{binding.name}'"
        text = f"ValidatingAdmissionPolicy '{policy}'{bound} denied request: {decision.message}"
        name = "" if binding is None else binding.name
        reason = decision.reason or "Invalid"
        self.denials.append(Denial(policy, name, decision.message, text, reason, CODES[reason]))

    def warn(self, policy: str, binding: Binding, message: str) -> None:
        """Warn of a policy, whatever the actions of its binding are."""
        text = f"ValidatingAdmissionPolicy '{policy}' with binding '{binding.name}' {message}"
        self.warnings.append(Warn("", text, policy=policy))

    def result(self, policy: str, binding: Binding, result: ValidatorResult) -> None:
        self.evaluated[policy] = None
        for index, decision in enumerate(result.decisions):
            if decision.action == "deny":
                self._act(policy, binding, index, decision)
        for annotation in result.annotations:
            if annotation.action == "publish":
                value = annotation.value.encode()[:_ANNOTATION_LIMIT].decode(errors="ignore")
                values = self.annotations.setdefault(f"{policy}/{annotation.key}", [])
                values.extend([value] if value not in values else [])
            elif annotation.action == "error":
                self.deny(policy, binding, PolicyDecision("deny", "error", annotation.error))

    def _act(self, policy: str, binding: Binding, index: int, decision: PolicyDecision) -> None:
        for action in binding.actions:
            if action == "Deny":
                self.deny(policy, binding, decision)
            elif action == "Warn":
                where = f"ValidatingAdmissionPolicy '{policy}' with binding '{binding.name}'"
                self.warnings.append(Warn("", f"Validation failed for {where}: {decision.message}", policy=policy))
            else:
                self.audit.setdefault(FAILURE_KEY, _failure(policy, binding, index, decision))

    def response(self, attributes: Attributes) -> PolicyResponse:
        published = {key: ", ".join(values) for key, values in self.annotations.items()}
        audit = {**self.audit, **published}
        evaluated = tuple(self.evaluated)
        prefix = f"{_title(attributes)} is forbidden: "
        return PolicyResponse(attributes.object, tuple(self.denials), tuple(self.warnings), audit, evaluated, prefix)


def _title(attributes: Attributes) -> str:
    """The object in the API server's "is forbidden" message (``admission.NewForbidden``)."""
    resource = attributes.resource
    metadata = (attributes.object or {}).get("metadata")
    names = metadata if isinstance(metadata, dict) else {}
    name = str(attributes.name or names.get("name") or names.get("generateName") or "Unknown")
    return f"{resource.name}.{resource.group} {quote(name)}" if resource.group else f"{resource.name} {quote(name)}"


def _failure(policy: str, binding: Binding, index: int, decision: PolicyDecision) -> str:
    failure = {
        "message": one_line(decision.message),
        "policy": policy,
        "binding": binding.name,
        "expressionIndex": index,
        "validationActions": list(binding.actions),
    }
    return json.dumps([failure], separators=(",", ":"), ensure_ascii=False)
