"""The differences of a webhook configuration are named by field and writer, and are a JSON patch that ends them."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certs import differences, sentence
from tests.certs.test_restore import WEBHOOK
from webhook.admission.patch import apply as patched

WANTED = {"webhooks": [WEBHOOK]}
CLIENT = WEBHOOK["clientConfig"]
OTHER = {"name": "other.example.com", "clientConfig": {"url": "https://other.example.com"}}


def entry(manager, fields, time="2026-11-28T10:00:00Z"):
    """What the API server records of a write of fields of the first webhook."""
    own = {"f:webhooks": {'k:{"name":"validate.modelgate.dev"}': fields}}
    return {"manager": manager, "operation": "Update", "time": time, "fieldsV1": own}


def live(*managers, **fields):
    metadata = {"name": "gate", "resourceVersion": "1", "managedFields": list(managers)}
    return {"metadata": metadata, "webhooks": [{**copy.deepcopy(WEBHOOK), **fields}]}


@pytest.mark.parametrize(
    ("fields", "managers", "text"),
    [
        (
            {"rules": [{**WEBHOOK["rules"][0], "operations": ["UPDATE"]}]},
            [entry("helm", {"f:failurePolicy": {}}), entry("kubectl-patch", {"f:rules": {}})],
            "webhooks[0].rules[0].operations changed by kubectl-patch",
        ),
        (
            {"failurePolicy": "Ignore"},
            [
                entry("kubectl-edit", {"f:failurePolicy": {}}, "2026-11-28T12:00:00Z"),
                entry("helm", {"f:failurePolicy": {}}),
            ],
            "webhooks[0].failurePolicy changed by kubectl-edit",
        ),
        (
            {"clientConfig": {"url": "https://x", "caBundle": "eA=="}},
            [entry("kubectl-patch", {"f:clientConfig": {"f:url": {}}})],
            "webhooks[0].clientConfig.service changed, webhooks[0].clientConfig.url changed by kubectl-patch",
        ),
        (
            {"matchConditions": [{"name": "no", "expression": "false"}], "objectSelector": {"matchLabels": {"a": "b"}}},
            [],
            "webhooks[0].matchConditions changed, webhooks[0].objectSelector changed",
        ),
        ({"rules": []}, [{"manager": "x", "fieldsV1": None}, {}], "webhooks[0].rules changed"),
    ],
)
def test_a_field_is_named_with_its_last_writer(fields, managers, text):
    assert sentence(differences(WANTED, live(*managers, **fields))) == text


def test_many_fields_are_counted():
    fields = dict.fromkeys(("matchPolicy", "sideEffects", "failurePolicy", "timeoutSeconds", "x"), "odd")
    assert sentence(differences(WANTED, live(**fields))).endswith(
        "matchPolicy changed, webhooks[0].sideEffects changed, and 2 more"
    )


FIELD = st.sampled_from([*WEBHOOK, "matchConditions", "url", "timeoutSeconds"])
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(FIELD | st.text(max_size=2), inner, max_size=2),
)


@given(
    st.dictionaries(FIELD.filter(lambda key: key != "name"), VALUE, max_size=3), st.lists(st.just(OTHER), max_size=1)
)
def test_the_operations_make_any_configuration_what_it_has_to_be(fields, more):
    changed = live(**fields)
    changed["webhooks"] += more
    found = differences(WANTED, changed)
    after = patched(changed, [each.operation for each in found])
    assert differences(WANTED, after) == []
    assert bool(found) == (differences(WANTED, changed) != [])


def test_a_configuration_without_its_webhook_gets_it_back():
    changed = {"metadata": {}, "webhooks": [OTHER]}
    after = patched(changed, [each.operation for each in differences(WANTED, changed)])
    assert after["webhooks"] == [WEBHOOK]
