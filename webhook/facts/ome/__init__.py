"""OME: what the rules of its kinds may know beyond an object's text."""

from typing import Final

from webhook.cluster.view import Kind
from webhook.facts.fact import Fetched, Knowledge
from webhook.facts.nodes import Referent
from webhook.facts.ome.choice import comparison, preferred, ranking_tables, selection_of
from webhook.facts.ome.facts import FACTS
from webhook.facts.ome.fit import fit_of_service
from webhook.facts.ome.lookup import find_model, find_runtime
from webhook.facts.ome.merging import merged
from webhook.facts.ome.selection import incompatible
from webhook.facts.ome.service import CONFIG, MAIN, MODE, MULTI_NODE, RAW, ROLES, base_of, has_full_runner, mode_of
from webhook.facts.ome.storage import storage_error, storage_scheme
from webhook.facts.ome.wiring import NOT_OF_POD, expanded, ready_label

_GROUP: Final = "ome.io"
_SERVICE: Final = Kind(_GROUP, "InferenceService")
_WATCHED: Final = (
    "BaseModel",
    "ClusterBaseModel",
    "ClusterServingRuntime",
    "FineTunedWeight",
    "InferenceService",
    "ServingRuntime",
)
_CLAIMS: Final = ("ResourceClaim", "ResourceClaimTemplate")

KNOWLEDGE: Final = Knowledge(
    FACTS,
    watched=frozenset(Kind(_GROUP, kind) for kind in _WATCHED),
    fetched=frozenset(
        [
            Fetched(Kind("", "ConfigMap"), CONFIG),
            Fetched(Kind("", "PersistentVolumeClaim")),
            *(Fetched(Kind("resource.k8s.io", kind)) for kind in _CLAIMS),
        ]
    ),
    fits={"InferenceService": fit_of_service},
    comparisons={_SERVICE: comparison},
    explanations={_SERVICE: ranking_tables},
    choices={(_SERVICE, "model"): ("name", "kind"), (_SERVICE, "runtime"): ("name", "kind")},
)
