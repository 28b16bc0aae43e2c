"""A cluster that runs already (kind, k3s): MODELGATE_E2E_KUBECONFIG, with our image in MODELGATE_E2E_IMAGE."""

from __future__ import annotations

import os
from pathlib import Path

from tests.e2e.assets import Assets
from tests.e2e.kubectl import Kubectl, Program
from tests.e2e.machine import Unavailable


class GivenCluster:
    """Has what tests use of a Node; its pods can run the image of MODELGATE_E2E_IMAGE, pushed or loaded before."""

    def __init__(self, assets: Assets, kubeconfig: Path) -> None:
        self.kubectl = Kubectl(assets("kubectl"), kubeconfig)
        self.helm = Program(assets("helm"), kubeconfig)
        self.image = os.environ.get("MODELGATE_E2E_IMAGE", "")
        if not self.image:
            raise Unavailable(
                "set MODELGATE_E2E_IMAGE to our image as the given cluster knows it (make image builds it)"
            )
