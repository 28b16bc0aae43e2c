"""Kubernetes' own validation of whole objects of built-in kinds, as the API server does it after defaulting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from webhook.golang.names import dns_1123_label, dns_1123_subdomain, path_segment
from webhook.ground.budget import Budget
from webhook.ground.fieldpath import ROOT
from webhook.kubernetes.judge import Judge
from webhook.kubernetes.metadata import check_finalizers
from webhook.kubernetes.objects import autoscaling, configs, jobs, network, services, workloads
from webhook.kubernetes.objects.changing import CHANGES
from webhook.kubernetes.values import Json, field, text
from webhook.schema.fielderror import FieldError

Check = Callable[[Judge, Json], None]
"""Adds what is wrong with an object, whose defaults are filled in."""


class ObjectKind(NamedTuple):
    """What is asked of the objects of a kind, beside their metadata. ``name_rule`` gives the problems of a name."""

    check: Check
    name_rule: Callable[[str], list[str]] = dns_1123_subdomain


_KINDS: Final[Mapping[tuple[str, str], ObjectKind]] = {
    ("v1", "ConfigMap"): ObjectKind(configs.check_config_map),
    ("v1", "PersistentVolumeClaim"): ObjectKind(configs.check_claim),
    ("v1", "Pod"): ObjectKind(workloads.check_pod),
    ("v1", "Secret"): ObjectKind(configs.check_secret),
    ("v1", "Service"): ObjectKind(services.check_service, dns_1123_label),
    ("v1", "ServiceAccount"): ObjectKind(configs.check_nothing),
    ("batch/v1", "CronJob"): ObjectKind(jobs.check_cron_job),
    ("batch/v1", "Job"): ObjectKind(jobs.check_job),
    ("networking.k8s.io/v1", "Ingress"): ObjectKind(network.check_ingress),
    ("networking.k8s.io/v1", "NetworkPolicy"): ObjectKind(network.check_network_policy),
    ("policy/v1", "PodDisruptionBudget"): ObjectKind(configs.check_budget, path_segment),
    ("apps/v1", "DaemonSet"): ObjectKind(workloads.check_daemon_set),
    ("apps/v1", "Deployment"): ObjectKind(workloads.check_deployment),
    ("apps/v1", "ReplicaSet"): ObjectKind(workloads.check_replica_set),
    ("apps/v1", "StatefulSet"): ObjectKind(workloads.check_stateful_set, dns_1123_label),
    ("autoscaling/v1", "HorizontalPodAutoscaler"): ObjectKind(autoscaling.check_old_autoscaler),
    ("autoscaling/v2", "HorizontalPodAutoscaler"): ObjectKind(autoscaling.check_autoscaler),
}


def is_validated(api_version: str, kind: str) -> bool:
    """Whether a kind is one of those that are validated here."""
    return (api_version, kind) in _KINDS


def name_rule(api_version: str, kind: str) -> Callable[[str], list[str]]:
    """What gives the problems of the name of an object of a kind that is validated here."""
    return _KINDS[api_version, kind].name_rule


def object_errors(obj: Json, old: Json | None = None, budget: Budget | None = None) -> list[FieldError]:
    """Kubernetes' errors of an object that is created, or that takes the place of ``old``; not those of its metadata.

    Both have their defaults, and are as they are stored (:mod:`webhook.kubernetes.objects.storing`).

    Raises:
        KeyError: its kind is not one of those that are validated here.
        SpentError: the ``budget`` is spent.
    """
    judge = Judge(budget=budget or Budget(), updates=old is not None)
    return judge.judged(ROOT, lambda: _check(judge, obj, old))


def _check(judge: Judge, obj: Json, old: Json | None) -> None:
    kind = text(obj, "kind")
    check_finalizers(judge, field(obj, "metadata") or {})
    _KINDS[text(obj, "apiVersion"), kind].check(judge, obj)
    if old is not None and kind in CHANGES:
        CHANGES[kind](judge, obj, old)
