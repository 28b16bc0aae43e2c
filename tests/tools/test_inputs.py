"""The recorded inputs of facts: a fact that reads more than is recorded may be wrong under another definition."""

from tools.inputs.recorded import recorded
from webhook.engine.catalog import Catalog
from webhook.facts.inputs import Input, inputs_of


def test_the_recorded_inputs_are_complete(loaded: Catalog) -> None:
    for kind, facts in recorded(loaded).items():
        for fact, paths in facts.items():
            known = {str(each) for each in inputs_of(kind, fact)}
            found = {str(_input(kind, path)) for path in paths}
            assert found <= known, "webhook/facts/inputs.json is stale: run `make docs`"


def _input(kind: str, path: str) -> Input:
    other, separator, keys = path.rpartition(":")
    return Input(other if separator else kind, tuple(keys.split(".")))


def test_inputs_are_fields_of_the_fact_s_own_kind_and_of_others() -> None:
    assert inputs_of("Model", "source") == (Input("Model", ("spec", "source")),)
    found = inputs_of("AIMService", "resolved")
    assert Input("AIMService", ("spec", "aimImageName")) in found
    assert Input("AIMServiceTemplate", ("spec", "aimImageName")) in found
    assert inputs_of("AIMService", "unknown") == ()
