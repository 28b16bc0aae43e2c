"""Start-up: a server does not import the modules that only untrusted CRDs need."""

import subprocess
import sys

LOAD = "import sys, webhook.serve.server; from webhook import catalog; catalog.load(); print(*sys.modules)"
ESTIMATOR = {f"webhook.cel.cost.{name}" for name in ("estimate", "calls", "libraries", "sizes")}


def test_loading_the_shipped_crds_imports_neither_the_checks_of_crd_documents_nor_the_cost_estimator() -> None:
    python = subprocess.run([sys.executable, "-c", LOAD], check=True, capture_output=True, text=True)
    loaded = set(python.stdout.split())
    assert "webhook.schema.load" in loaded
    assert not {name for name in loaded if name.startswith("webhook.schema.crd.")} - {"webhook.schema.crd.digest"}
    assert not ESTIMATOR & loaded
