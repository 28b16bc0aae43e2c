"""Job and CronJob (``pkg/apis/batch/validation``)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from webhook.golang.errors import GoError
from webhook.golang.names import dns_1123_label, dns_1123_subdomain, label_key
from webhook.golang.strconv import atoi, quote
from webhook.ground.fieldpath import ROOT, FieldPath
from webhook.kubernetes.judge import Judge
from webhook.kubernetes.objects.schedules import schedule_problem, zone_problems
from webhook.kubernetes.objects.selecting import check_labels_of_template, check_natural, check_selector, selects
from webhook.kubernetes.objects.storing import UID
from webhook.kubernetes.pod import check_template
from webhook.kubernetes.values import Json, field, flag, number, structs, text
from webhook.schema.fielderror import duplicate, invalid, not_supported, required, too_long, too_many

_SPEC: Final = ROOT.child("spec")
_COUNTS: Final = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
_HISTORY: Final = ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
_PER_INDEX: Final = ("backoffLimitPerIndex", "maxFailedIndexes")
_MODES: Final = ("NonIndexed", "Indexed")
_REPLACEMENTS: Final = ("Failed", "TerminatingOrFailed")
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS: Final = ("In", "NotIn")
_STATES: Final = ("False", "True", "Unknown")
_CONCURRENCY: Final = ("Allow", "Forbid", "Replace")
_PREFIXES: Final = ("", "batch.kubernetes.io/")
_LONGEST_NAME: Final = 52
"""Characters of the name of a CronJob: the names of its Jobs have eleven more."""
_INDEXED: Final = "requires indexed completion mode"
_MANY, _SOME = 100_000, 10_000
_MOST_RULES, _MOST_CODES, _MOST_INDEXES, _MANAGER = 20, 255, 65_536, 63


def check_job(judge: Judge, obj: Json) -> None:
    spec, name = field(obj, "spec") or {}, text(field(obj, "metadata") or {}, "name")
    selector, template = field(spec, "selector"), field(spec, "template") or {}
    check_job_spec(judge, spec, _SPEC)
    if not judge.updates:
        _check_pod_name(judge, spec, name)
    usable = True
    if selector is None:
        judge.add(required(_SPEC.child("selector")))
    else:
        usable = check_selector(judge, selector, _SPEC.child("selector"))
        if not flag(spec, "manualSelector") and not judge.updates:
            _check_generated(judge, selector if usable else None, template, name)
    if usable:
        check_labels_of_template(judge, selector, template, _SPEC.child("template"))


def _check_pod_name(judge: Judge, spec: Json, name: str) -> None:
    """The pods of an indexed Job have its name and their index in theirs, which is that of a host."""
    count = number(spec, "completions") or 0
    if text(spec, "completionMode") == "Indexed" and count > 0:
        host = f"{name}-{count - 1}"
        if dns_1123_label(host):
            why = f"will not able to create pod with invalid DNS label: {host}"
            judge.add(invalid(ROOT.child("metadata", "name"), name, why))


def _check_generated(judge: Judge, selector: Json | None, template: Json, name: str) -> None:
    """``validateGeneratedSelector``: the selector and the labels that the API server gives a Job."""
    labels = field(field(template, "metadata") or {}, "labels") or {}
    at = _SPEC.child("template", "metadata", "labels")
    wanted = {f"{prefix}controller-uid": UID for prefix in _PREFIXES}
    wanted |= {f"{prefix}job-name": name for prefix in _PREFIXES}
    for key, value in wanted.items():
        if key not in labels:
            judge.add(required(at.key(key), f"must be '{value}'"))
        elif labels[key] != value:
            judge.add(invalid(at.key(key), labels, f"must be '{value}'"))
    if selector is not None and not selects(selector, wanted):
        judge.add(invalid(_SPEC.child("selector"), selector, "`selector` not auto-generated"))


def check_job_spec(judge: Judge, spec: Json, at: FieldPath) -> None:
    """``validateJobSpec``: what a Job and the template of a CronJob share."""
    check_natural(judge, spec, (*_COUNTS, *_PER_INDEX), at)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        judge.add(required(at.child("backoffLimitPerIndex"), "when maxFailedIndexes is specified"))
    _check_manager(judge, spec.get("managedBy"), at.child("managedBy"))
    mode = text(spec, "completionMode")
    if spec.get("completionMode") is not None and mode not in _MODES:
        judge.add(not_supported(at.child("completionMode"), mode, _MODES))
    if mode == "Indexed":
        _check_indexed(judge, spec, at)
    elif spec.get("completionMode") in (None, "NonIndexed"):
        for key in _PER_INDEX:
            if spec.get(key) is not None:
                judge.add(invalid(at.child(key), spec[key], _INDEXED))
    failure, success = field(spec, "podFailurePolicy"), field(spec, "successPolicy")
    if failure is not None:
        _check_failures(judge, spec, failure, at.child("podFailurePolicy"))
    if success is not None and mode != "Indexed":
        judge.add(invalid(at.child("successPolicy"), success, _INDEXED))
    elif success is not None:
        _check_success(judge, spec, success, at.child("successPolicy", "rules"))
    _check_replacement(judge, spec, at.child("podReplacementPolicy"), failing=failure is not None)
    judge.owner = "job"
    template = field(spec, "template") or {}
    check_template(judge, template, at.child("template"))
    restart = text(field(template, "spec") or {}, "restartPolicy")
    if failure is not None and restart == "OnFailure":
        why = 'only "Never" is supported when podFailurePolicy is specified'
        judge.add(invalid(at.child("template", "spec", "restartPolicy"), restart, why))


def _check_manager(judge: Judge, name: object, at: FieldPath) -> None:
    """``IsDomainPrefixedPath``, and a length."""
    if not isinstance(name, str):
        return
    domain, slash, path = name.partition("/")
    if not name:
        judge.add(required(at))
    elif not slash or not domain or not path:
        judge.add(invalid(at, name, 'must be a domain-prefixed path (such as "acme.io/foo")'))
    else:
        judge.add_invalid(dns_1123_subdomain(domain), domain, at)
    if len(name.encode(errors="replace")) > _MANAGER:
        judge.add(too_long(at, _MANAGER))


def _check_indexed(judge: Judge, spec: Json, at: FieldPath) -> None:
    width, count, failed = (number(spec, key) for key in ("parallelism", "completions", "maxFailedIndexes"))
    if count is None:
        judge.add(required(at.child("completions"), "when completion mode is Indexed"))
    if width is not None and width > _MANY:
        why = f"must be less than or equal to {_MANY} when completion mode is Indexed"
        judge.add(invalid(at.child("parallelism"), width, why))
    if count is not None and failed is not None and failed > count:
        judge.add(invalid(at.child("maxFailedIndexes"), failed, "must be less than or equal to completions"))
    if failed is not None and failed > _MANY:
        judge.add(invalid(at.child("maxFailedIndexes"), failed, f"must be less than or equal to {_MANY}"))
    if count is None or count <= _MANY or spec.get("backoffLimitPerIndex") is None:
        return
    beside = f"when completions are above {_MANY} and used with backoff limit per index"
    if failed is None:
        judge.add(required(at.child("maxFailedIndexes"), f"must be specified when completions is above {_MANY}"))
    for key, value in (("parallelism", width), ("maxFailedIndexes", failed)):
        if value is not None and value > _SOME:
            judge.add(invalid(at.child(key), value, f"must be less than or equal to {_SOME} {beside}"))


def _check_replacement(judge: Judge, spec: Json, at: FieldPath, *, failing: bool) -> None:
    policy, allowed = spec.get("podReplacementPolicy"), _REPLACEMENTS[:1] if failing else _REPLACEMENTS
    if policy is not None and policy not in allowed:
        judge.add(not_supported(at, policy, allowed))


def _check_failures(judge: Judge, spec: Json, policy: Json, at: FieldPath) -> None:
    rules = structs(policy, "rules")
    if len(rules) > _MOST_RULES:
        judge.add(too_many(at.child("rules"), len(rules), _MOST_RULES))
    pod = field(field(spec, "template") or {}, "spec") or {}
    names = {text(container, "name") for key in ("containers", "initContainers") for _, container in structs(pod, key)}
    for index, rule in rules:
        own, action = at.child("rules").index(index), text(rule, "action")
        if not action:
            judge.add(required(own.child("action"), f"valid values: [{' '.join(map(quote, _ACTIONS))}]"))
        elif action not in _ACTIONS:
            judge.add(not_supported(own.child("action"), action, _ACTIONS))
        elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            judge.add(invalid(own.child("action"), action, "requires the backoffLimitPerIndex to be set"))
        _check_rule(judge, rule, names, own)


def _check_rule(judge: Judge, rule: Json, names: set[str], at: FieldPath) -> None:
    codes, conditions = field(rule, "onExitCodes"), structs(rule, "onPodConditions")
    if codes is not None:
        _check_codes(judge, codes, names, at.child("onExitCodes"))
    if len(conditions) > _MOST_RULES:
        judge.add(too_many(at.child("onPodConditions"), len(conditions), _MOST_RULES))
    for index, condition in conditions:
        own, kind, state = at.child("onPodConditions").index(index), text(condition, "type"), text(condition, "status")
        judge.add_invalid(label_key(kind), kind, own, "type")
        if state not in _STATES:
            judge.add(not_supported(own.child("status"), state, _STATES))
    if codes is not None and conditions:
        judge.add(invalid(at, rule, "specifying both OnExitCodes and OnPodConditions is not supported"))
    elif codes is None and not conditions:
        judge.add(invalid(at, rule, "specifying one of OnExitCodes and OnPodConditions is required"))


def _check_codes(judge: Judge, codes: Json, names: set[str], at: FieldPath) -> None:
    container, operator = codes.get("containerName"), text(codes, "operator")
    if isinstance(container, str) and container not in names:
        why = "must be one of the container or initContainer names in the pod template"
        judge.add(invalid(at.child("containerName"), container, why))
    if not operator:
        judge.add(required(at.child("operator"), f"valid values: [{' '.join(map(quote, _OPERATORS))}]"))
    elif operator not in _OPERATORS:
        judge.add(not_supported(at.child("operator"), operator, _OPERATORS))
    values = codes.get("values") if isinstance(codes.get("values"), list) else []
    numbers: Sequence[int] = [code if isinstance(code, int) else 0 for code in values or ()]
    if not numbers:
        judge.add(invalid(at.child("values"), numbers, "at least one value is required"))
    elif len(numbers) > _MOST_CODES:
        judge.add(too_many(at.child("values"), len(numbers), _MOST_CODES))
    seen = set[int]()
    for index, value in enumerate(numbers):
        if operator == "In" and value == 0:
            judge.add(invalid(at.child("values").index(index), value, "must not be 0 for the In operator"))
        if value in seen:
            judge.add(duplicate(at.child("values").index(index), value))
        seen.add(value)
    if any(after < before for before, after in pairwise(numbers)):
        judge.add(invalid(at.child("values"), list(numbers), "must be ordered"))


def _check_success(judge: Judge, spec: Json, policy: Json, at: FieldPath) -> None:
    rules, completions = structs(policy, "rules"), number(spec, "completions") or 0
    if not rules:
        judge.add(required(at, "at least one rules must be specified when the successPolicy is specified"))
    if len(rules) > _MOST_RULES:
        judge.add(too_many(at, len(rules), _MOST_RULES))
    for index, rule in rules:
        own, count, indexes = at.index(index), number(rule, "succeededCount"), rule.get("succeededIndexes")
        if count is None and indexes is None:
            judge.add(required(own, "at least one of succeededCount or succeededIndexes must be specified"))
        total = 0
        if isinstance(indexes, str):
            total = _check_indexes(judge, indexes, completions, own.child("succeededIndexes"))
        if count is None:
            continue
        own = own.child("succeededCount")
        check_natural(judge, rule, ("succeededCount",), at.index(index))
        if count > completions:
            why = f"must be less than or equal to {completions} (the number of specified completions)"
            judge.add(invalid(own, count, why))
        if isinstance(indexes, str) and count > total:
            noun = "the number of indexes in the specified succeededIndexes field"
            why = f"must be less than or equal to {total} ({noun})"
            judge.add(invalid(own, count, why))


def _check_indexes(judge: Judge, indexes: str, completions: int, at: FieldPath) -> int:
    """Add what is wrong with a text such as ``1,3-5``; the number of its indexes."""
    if len(indexes.encode(errors="replace")) > _MOST_INDEXES:
        judge.add(too_long(at, _MOST_INDEXES))
    try:
        return _count(indexes, completions)
    except ValueError as error:
        judge.add(invalid(at, indexes, f"error parsing succeededIndexes: {error}"))
        return 0


def _count(indexes: str, completions: int) -> int:
    total, last = 0, -1
    if not indexes:
        return 0
    for interval in indexes.split(","):
        limits = interval.split("-")
        if len(limits) > 2:
            rule = "an index interval can have at most two parts separated by '-'"
            raise ValueError(f"the fragment {quote(interval)} violates the requirement that {rule}")
        numbers = [_index(limit, completions) for limit in limits]
        for number_ in numbers:
            if last >= number_:
                raise ValueError(f"non-increasing order, previous: {last}, current: {number_}")
            last = number_
        total += numbers[-1] - numbers[0] + 1
    return total


def _index(written: str, completions: int) -> int:
    try:
        index = atoi(written)
    except GoError:
        raise ValueError(f"cannot convert string to integer for index: {quote(written)}") from None
    if index >= completions:
        raise ValueError(f"too large index: {quote(written)}")
    return index


def check_cron_job(judge: Judge, obj: Json) -> None:
    spec, name = field(obj, "spec") or {}, text(field(obj, "metadata") or {}, "name")
    if len(name.encode(errors="replace")) > _LONGEST_NAME and not judge.updates:
        why = f"must be no more than {_LONGEST_NAME} characters"
        judge.add(invalid(ROOT.child("metadata", "name"), name, why))
    schedule, zone = text(spec, "schedule"), spec.get("timeZone")
    if not schedule:
        judge.add(required(_SPEC.child("schedule")))
    elif problem := schedule_problem(schedule):
        judge.add(invalid(_SPEC.child("schedule"), schedule, problem))
    if "TZ" in schedule:
        why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        judge.add(invalid(_SPEC.child("schedule"), schedule, why))
    judge.add_invalid(zone_problems(zone) if isinstance(zone, str) else (), zone, _SPEC, "timeZone")
    check_natural(judge, spec, _HISTORY, _SPEC)
    policy = text(spec, "concurrencyPolicy")
    if policy not in _CONCURRENCY:
        judge.add(not_supported(_SPEC.child("concurrencyPolicy"), policy, _CONCURRENCY))
    job, at = field(field(spec, "jobTemplate") or {}, "spec") or {}, _SPEC.child("jobTemplate", "spec")
    check_job_spec(judge, job, at)
    if flag(job, "manualSelector") is not True and field(job, "selector") is not None:
        judge.add(invalid(at.child("selector"), job["selector"], "`selector` will be auto-generated"))
    if flag(job, "manualSelector"):
        judge.add(not_supported(at.child("manualSelector"), True, ("nil", "false")))
