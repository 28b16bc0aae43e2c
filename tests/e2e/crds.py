"""The CRDs of the checkout, in a cluster."""

from __future__ import annotations

from tests.definitions import definition, definition_files
from tests.e2e.kubectl import Kubectl
from tests.e2e.processes import wait_until


def install_crds(kubectl: Kubectl, api: str = "*") -> None:
    """Create or update every CRD of ``policies/``, or those of one API, and wait until each is served."""
    files = [file for file in definition_files() if file.match(f"{api}/crds/*")]
    kubectl("apply", "--server-side", "--force-conflicts", *(flag for file in files for flag in ("-f", str(file))))
    # By path: by condition, kubectl gives up on a definition that lacks this one. By path, it gives up on a definition
    # that has no conditions at all yet, and is asked again.
    established = 'jsonpath={.status.conditions[?(@.type=="Established")].status}=True'
    names = [definition(file)["metadata"]["name"] for file in files]
    wait = ("wait", f"--for={established}", "--timeout=3m", *(f"crd/{name}" for name in names))
    wait_until(lambda: kubectl.run(*wait).code == 0, "the definitions to be established")
    # A kind is served a moment after its definition is established.
    wait_until(lambda: kubectl.run("get", ",".join(names), "--all-namespaces").code == 0, "the kinds to be served")
