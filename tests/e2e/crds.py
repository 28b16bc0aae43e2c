"""The CRDs of the checkout, in a cluster."""

from __future__ import annotations

from tests.definitions import definition_files
from tests.e2e.kubectl import Kubectl


def install_crds(kubectl: Kubectl) -> None:
    """Create or update every CRD of ``policies/``, and wait until each is served."""
    chosen = [flag for file in definition_files() for flag in ("-f", str(file))]
    kubectl("apply", "--server-side", "--force-conflicts", *chosen)
    # By path: by condition, kubectl gives up on a definition that has none yet.
    established = 'jsonpath={.status.conditions[?(@.type=="Established")].status}=True'
    kubectl("wait", f"--for={established}", "--timeout=3m", *chosen)
