"""Rules at many places: each place exists in a kind, and the rule compiles at each."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from webhook.admission.decision import GroupVersionKind
from webhook.catalog import Catalog, forms
from webhook.catalog.fitting import with_all_fields
from webhook.manifests import documents
from webhook.manifests.documents import Document
from webhook.policy import Inputs, PolicyDocument, compile_policy, parse_policy

ROOT = Path(__file__).resolve().parents[2] / "policies"


def shared_rules() -> Iterator[tuple[Document, PolicyDocument, int]]:
    """Each policy with the index of each rule that has a list of places."""
    others = {file for name in ("pack", "follow") for file in ROOT.glob(f"*/{name}.yaml")}
    for file in sorted({*ROOT.glob("*/*.yaml")} - others):
        for document in documents.read(file):
            policy = parse_policy(document)
            for index, rule in enumerate(policy.spec.validations):
                if isinstance(rule.at, list):
                    yield document, policy, index


@pytest.mark.parametrize(
    ("document", "policy", "index"),
    [pytest.param(*each, id=each[1].spec.validations[each[2]].code) for each in shared_rules()],
)
def test_a_rule_compiles_at_each_of_its_places(
    document: Document, policy: PolicyDocument, index: int, loaded: Catalog
) -> None:
    """As rules of one policy, each with one of the places: then the first of a list gives no other its type."""
    target, rule = policy.spec.target, policy.spec.validations[index]
    found: set[str] = set()
    kinds = [GroupVersionKind(target.group, target.versions[0], kind) for kind in target.kinds]
    for known in (each.kinds[kind] for each in forms(loaded) for kind in kinds):
        facts = {name: fact.schema for name, fact in known.facts.items()}
        places = [str(each.at) for each in known.policy.validations if each.code == rule.code]
        alone = [replace(rule, at=[place], code=f"{rule.code} at {place}") for place in places]
        spec = replace(policy.spec, validations=alone, defaults=[], children=[])
        inputs = Inputs(with_all_fields(known).schema, facts)
        compiled = compile_policy(replace(policy, spec=spec), document, inputs, holds=known.in_force.holds)
        assert [str(each.at) for each in compiled.validations] == places
        found |= set(places)
    assert found


def test_every_place_of_a_list_is_one_of_some_rule(loaded: Catalog) -> None:
    kinds = [known for each in forms(loaded) for known in each.kinds.values()]
    taken = {str(rule.at) for known in kinds for rule in known.policy.validations}
    listed = {place for _, policy, index in shared_rules() for place in policy.spec.validations[index].places}
    assert listed - taken == set()
