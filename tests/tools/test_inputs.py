"""The recorded inputs of facts: a fact that reads more than is recorded may be wrong under another definition."""

from tools.inputs.recorded import recorded
from webhook.cluster import Kind
from webhook.engine.catalog import Catalog
from webhook.facts.inputs import Input, inputs_of


def test_the_recorded_inputs_are_complete(loaded: Catalog) -> None:
    for kind, facts in recorded(loaded).items():
        for fact, paths in facts.items():
            known = {str(each) for each in inputs_of(Kind(*kind.split("/")), fact)}
            found = {str(_input(kind, path)) for path in paths}
            assert found <= known, "webhook/facts/inputs.json is stale: run `make docs`"


def _input(kind: str, path: str) -> Input:
    other, _, keys = path.rpartition(":")
    return Input(Kind(*(other or kind).split("/")), tuple(keys.split(".")))


def test_inputs_are_fields_of_the_fact_s_own_kind_and_of_others() -> None:
    model, service = Kind("inference.llmkube.dev", "Model"), Kind("aim.silogen.ai", "AIMService")
    assert inputs_of(model, "source") == (Input(model, ("spec", "source")),)
    found = inputs_of(service, "resolved")
    assert Input(service, ("spec", "aimImageName")) in found
    assert Input(Kind("aim.silogen.ai", "AIMServiceTemplate"), ("spec", "aimImageName")) in found
    assert inputs_of(service, "unknown") == ()
