"""The recorded inputs of facts: a fact that reads more than is recorded may be wrong under another definition."""

import json
from pathlib import Path

from tools.inputs.recorded import recorded
from webhook.catalog import Catalog, built_in
from webhook.cluster import Kind
from webhook.facts.fact import Input, inputs_of

FOLDER = Path(__file__).parents[2] / "webhook" / "facts"


def test_the_recorded_inputs_are_complete(loaded: Catalog) -> None:
    kept = json.loads((FOLDER / "inputs.json").read_bytes())
    for kind, facts in recorded(loaded, [*built_in()]).items():
        for fact, paths in facts.items():
            assert set(paths) <= set(kept[kind][fact]), "webhook/facts/inputs.json is stale: run `make docs`"


def test_inputs_are_fields_of_the_fact_s_own_kind_and_of_others() -> None:
    model, service = Kind("inference.llmkube.dev", "Model"), Kind("aim.silogen.ai", "AIMService")
    assert inputs_of(model, "source") == (Input(model, ("spec", "source")),)
    found = inputs_of(service, "resolved")
    assert Input(service, ("spec", "aimImageName")) in found
    assert Input(Kind("aim.silogen.ai", "AIMServiceTemplate"), ("spec", "aimImageName")) in found
    assert inputs_of(service, "unknown") == ()


def test_the_key_of_an_annotation_may_have_dots() -> None:
    service = Kind("ome.io", "InferenceService")
    assert Input(service, ("metadata", "annotations", "ome.io/deploymentMode")) in inputs_of(service, "deployment")
