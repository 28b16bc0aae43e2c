"""The chart as helm renders it, with a few ways to look at it."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.assets import found
from webhook.catalog import built_in

ROOT = Path(__file__).parents[2]
CHART = ROOT / "chart"
DEFINITIONS = ROOT / "chart-crds"
APIS = tuple(built_in())
NAMESPACE = "modelgate-system"

# Policies of a user's, about deployments, with params in the cluster.
POLICIES = """policies={
  "documents": {"mine.yaml": "kind: ValidatingAdmissionPolicy"},
  "rules": [{"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]}],
  "paramKinds": [{"group": "rules.example", "resources": ["limits"]}]
}"""

Object = dict[str, Any]


def program() -> str:
    """Helm of the PATH, or the one that the tests on a cluster have built; skip without one."""
    helm = shutil.which("helm") or found("helm")
    if helm is None:
        pytest.skip("needs helm: install it, or build it by `make assets`")
    return str(helm)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """One call of helm without a cluster; standard error holds its complaints."""
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}  # no plugins, no kubeconfig
    return subprocess.run([program(), *arguments], capture_output=True, text=True, env=environment, check=False)


@cache
def rendered(*sets: str, release: str = "modelgate", chart: Path = CHART) -> tuple[Object, ...]:
    """All objects but those of `helm test`; ``sets`` are arguments of --set-json."""
    flags = ["--skip-tests", *(f"--set-json={each}" for each in sets)]
    done = run("template", release, str(chart), "--namespace", NAMESPACE, *flags)
    assert done.returncode == 0, done.stderr
    return documents(done.stdout)


def documents(text: str) -> tuple[Object, ...]:
    """The objects of a text; the same object in another text is read once (the definitions are large)."""
    return tuple(each for part in text.split("\n---\n") if (each := _document(part)))


@cache
def _document(text: str) -> Object:
    return yaml.load(text, Loader=yaml.CSafeLoader)


def of_kind(kind: str, *sets: str, release: str = "modelgate") -> list[Object]:
    return [each for each in rendered(*sets, release=release) if each["kind"] == kind]


def configurations(*sets: str, release: str = "modelgate") -> list[Object]:
    """The mutating ones, then the validating ones, by name."""
    kinds = "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"
    found = (each for kind in kinds for each in of_kind(kind, *sets, release=release))
    return sorted(found, key=lambda each: (each["kind"], each["metadata"]["name"]))


def webhooks(*sets: str) -> list[Object]:
    """Those that are called for something: without policies.rules, their webhooks are there and are not."""
    return [webhook for each in configurations(*sets) for webhook in each["webhooks"] if webhook["rules"]]


def pods(*sets: str) -> dict[str, Object]:
    """The specification of each Deployment's pods, by component."""
    label = "app.kubernetes.io/component"
    return {
        each["metadata"]["labels"][label]: each["spec"]["template"]["spec"] for each in of_kind("Deployment", *sets)
    }


def containers(pod: Object) -> Iterator[Object]:
    yield from pod.get("initContainers", [])
    yield from pod["containers"]


def values() -> Object:
    return yaml.safe_load((CHART / "values.yaml").read_text())
