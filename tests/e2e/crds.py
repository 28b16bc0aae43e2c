"""The CRDs of the checkout, in a cluster."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.kubectl import Kubectl

POLICIES = Path(__file__).parents[2] / "policies"


def install_crds(kubectl: Kubectl) -> None:
    """Create or update every CRD of ``policies/``, and wait until each is served."""
    files = sorted(POLICIES.glob("*/crds/*.yaml"))
    chosen = [flag for file in files for flag in ("-f", str(file))]
    kubectl("apply", "--server-side", "--force-conflicts", *chosen)
    kubectl("wait", "--for=condition=Established", "--timeout=30s", *chosen)
