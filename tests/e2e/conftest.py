"""A real API server for the tests of this folder: ``make e2e``, or MODELGATE_E2E=1 with pytest.

What this machine cannot run is skipped and says what to do about it; MODELGATE_E2E=require makes that a failure.

    MODELGATE_E2E             1: run these tests; require: and fail where one cannot run
    MODELGATE_E2E_KUBERNETES  another release than the default, built from source
    MODELGATE_E2E_KUBECONFIG  a cluster that runs pods (kind, k3s), instead of a node of our own
    MODELGATE_E2E_IMAGE       our image as that cluster knows it
    KUBEBUILDER_ASSETS        a folder with programs of a cluster, looked into first
    MODELGATE_E2E_OBJECTS     how many mutated objects test_offline.py compares (default 200)
    PYTHON_IMAGE              another base for our image, where a registry can be reached

After a failure, the logs of the cluster that the test used are kept, and the report names their folder.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.assets import Assets, assets
from tests.e2e.crds import install_crds
from tests.e2e.gate import Gate
from tests.e2e.given import GivenCluster
from tests.e2e.image import IMAGE, build
from tests.e2e.kubectl import Kubectl
from tests.e2e.machine import Unavailable
from tests.e2e.node import Node
from tests.e2e.plane import Plane
from tests.e2e.programs import compile_into, start_from
from tests.e2e.seeing import with_view
from tests.once import made_once

WANTED = os.environ.get("MODELGATE_E2E", "")
HERE = Path(__file__).parent
LONG = frozenset({"test_lifecycle", "test_readiness", "test_restarts", "test_rotation", "test_upheaval"})
"""Modules of `make e2e-long`: each runs minutes of load."""
FIRST = (
    *("test_export", "test_install", "test_restore", "test_reconciler", "test_doctor", "test_quiet"),
    *("test_enforcement", "test_fit", "test_scan", "test_rights", "test_releases", "test_way_back"),
    *("test_services", "test_children"),
)
"""The modules that take longest: where several run side by side, none of them begins last."""
NODE = frozenset({"node", "image", "archive"})
"""Fixtures of the one node that this machine can run; of planes, each process has its own."""
CLUSTERS = pytest.StashKey[dict[str, Plane]]()

_names = itertools.count(1)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            if item.path.stem in LONG:
                item.add_marker(pytest.mark.long)
            elif NODE & set(getattr(item, "fixturenames", ())):
                item.add_marker(pytest.mark.node)
            if not WANTED:
                item.add_marker(pytest.mark.skip(reason="needs a real API server: make e2e"))
    ranks = {name: rank for rank, name in enumerate(FIRST)}
    items.sort(key=lambda item: ranks.get(item.path.stem, len(ranks)) if HERE in item.path.parents else -1)


def unavailable(reason: Unavailable) -> None:
    """Skip what this machine cannot run, or fail where everything was required."""
    (pytest.fail if WANTED == "require" else pytest.skip)(str(reason))


def pytest_configure(config: pytest.Config) -> None:
    config.stash[CLUSTERS] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """A failed test keeps the logs of the cluster that it used, and says where they are."""
    report = yield
    if report.failed:
        for fixture, cluster in item.config.stash[CLUSTERS].items():
            if fixture in item.fixturenames:
                report.sections.append(("cluster logs", f"kept in {cluster.keep_logs()}"))
    return report


@pytest.fixture(scope="session")
def plane_assets(tmp_path_factory: pytest.TempPathFactory) -> Assets:
    """The programs of a plane. Beside one run Modelgate's own, compiled once for all processes of these tests."""
    try:
        found = assets("plane")
    except Unavailable as reason:
        unavailable(reason)
        raise
    start_from(made_once(tmp_path_factory, "programs", compile_into))
    return found


@pytest.fixture(scope="session")
def plane(plane_assets: Assets, pytestconfig: pytest.Config) -> Iterator[Plane]:
    """etcd, kube-apiserver and kube-controller-manager, with the CRDs of the checkout."""
    with Plane(plane_assets) as started:
        pytestconfig.stash[CLUSTERS]["plane"] = started
        install_crds(started.kubectl)
        yield started
    del pytestconfig.stash[CLUSTERS]["plane"]


@pytest.fixture(scope="session")
def gate(plane: Plane) -> Iterator[Gate]:
    """The gate as a local process, which the plane's API server calls through a Service."""
    with Gate(plane) as started:
        yield started


@pytest.fixture(scope="module")
def seeing(plane: Plane, gate: Gate) -> Iterator[Gate]:
    """The gate with a view of the plane, under the chart's own profile."""
    with with_view(plane, gate) as started:
        yield started


@pytest.fixture(scope="session")
def node(pytestconfig: pytest.Config) -> Iterator[Node | GivenCluster]:
    """A cluster that runs pods: one of our own on this machine, or the one of MODELGATE_E2E_KUBECONFIG."""
    try:
        if given := os.environ.get("MODELGATE_E2E_KUBECONFIG"):
            yield GivenCluster(assets("plane"), Path(given))
            return
        cluster = Node(assets("node"))
    except Unavailable as reason:
        unavailable(reason)
        raise
    with cluster:
        pytestconfig.stash[CLUSTERS]["node"] = cluster
        yield cluster
    del pytestconfig.stash[CLUSTERS]["node"]


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A docker-archive of our image, built from our Dockerfile."""
    made = tmp_path_factory.mktemp("image") / "modelgate.tar"
    try:
        build(made)
    except Unavailable as reason:
        unavailable(reason)
    return made


@pytest.fixture(scope="session")
def image(node: Node | GivenCluster, request: pytest.FixtureRequest) -> str:
    """The name under which the node's pods find our image."""
    if isinstance(node, GivenCluster):
        return node.image
    node.load(request.getfixturevalue("archive"))
    return IMAGE


@pytest.fixture
def kubectl(plane: Plane) -> Iterator[Kubectl]:
    """A kubectl in a namespace of the plane that is the test's own."""
    name = f"test-{next(_names)}"
    plane.kubectl("create", "namespace", name)
    yield plane.kubectl.within(name)
    plane.kubectl("delete", "namespace", name, "--wait=false")
