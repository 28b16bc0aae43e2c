"""What the projection of each API needs beside the kinds of the API: the chart grants it, and doctor asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

__all__ = ["ACTING", "NAMED"]

_FOLLOWED: Final = ("get", "list", "watch")
_OWNED: Final = (*_FOLLOWED, "create", "patch", "delete")
_FIXED: Final = (*_FOLLOWED, "create", "delete")
_WHOLE: Final = ("patch", "update")
ACTING: Final[Mapping[str, Sequence[tuple[str, Sequence[str], Sequence[str]]]]] = {
    "aim": (
        (
            "aim.silogen.ai",
            (
                "aimclusterimages/status",
                "aimclusterservicetemplates/status",
                "aimimages/status",
                "aimmodelcaches/status",
                "aimservices/status",
                "aimservicetemplates/status",
                "aimtemplatecaches/status",
            ),
            _WHOLE,
        ),
        ("aim.silogen.ai", ("aimclusterservicetemplates", "aimmodelcaches", "aimservicetemplates"), _OWNED),
        ("", ("persistentvolumeclaims",), _FIXED),
        ("", ("pods",), ("list", "watch")),
        ("", ("pods/log",), ("get",)),
        ("batch", ("jobs",), _FIXED),
        ("gateway.networking.k8s.io", ("httproutes",), _OWNED),
        ("serving.kserve.io", ("clusterservingruntimes", "inferenceservices", "servingruntimes"), _OWNED),
    ),
    "llmd": (
        ("llmd.ai", ("variantautoscalings/status",), _WHOLE),
        ("apps", ("deployments",), _FOLLOWED),
        ("", ("configmaps",), ("get",)),
    ),
    "llmkube": (
        ("inference.llmkube.dev", ("models/status",), _WHOLE),
        ("", ("persistentvolumeclaims",), _FOLLOWED),
        ("resource.k8s.io", ("resourceclaims", "resourceclaimtemplates"), _FOLLOWED),
    ),
    "ome": (
        (
            "ome.io",
            ("basemodels/status", "benchmarkjobs/status", "clusterbasemodels/status", "inferenceservices/status"),
            ("update",),
        ),
        ("", ("serviceaccounts", "services"), _OWNED),
        ("", ("pods",), _FOLLOWED),
        ("apps", ("deployments",), _OWNED),
        ("autoscaling", ("horizontalpodautoscalers",), _OWNED),
        ("batch", ("jobs",), _FIXED),
        ("keda.sh", ("scaledobjects",), _OWNED),
        ("leaderworkerset.x-k8s.io", ("leaderworkersets",), _OWNED),
        ("rbac.authorization.k8s.io", ("roles", "rolebindings"), _OWNED),
    ),
}
"""API that the reconciler acts for → groups, resources and verbs."""

NAMED: Final[Mapping[str, Sequence[tuple[str, str, str, str]]]] = {
    "ome": (("", "configmaps", "get", "benchmarkjob-config"),),
}
"""API → group, resource, verb and name of single objects."""
