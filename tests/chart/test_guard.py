"""What the chart's admission policies refuse the accounts of the chart, by the gate's own evaluator of such policies.

``tests/e2e/test_rights.py`` asks a real API server the same.
"""

from copy import deepcopy
from functools import cache

import pytest
import yaml

from tests.chart.attempts import FIELDS, METADATA, with_another_webhook, with_field, without_a_webhook
from tests.chart.helm import NAMESPACE, POLICIES, configurations, of_kind
from tests.chart.test_certificates import MANAGED
from tests.chart.test_rights import BLIND, REPORTS, rights
from tests.vap.documents import documents
from webhook.admission.decision import GroupVersionKind, Request
from webhook.vap import MemoryContext, NativePolicies

ADMISSION = "admissionregistration.k8s.io"
NO_RESTORE = "webhooks.restore=false"
ANNOTATED = (
    'commonAnnotations={"a.example":"x"}',
    'webhooks.annotations={"admissions.enforcer/disabled":"true"}',
    POLICIES,
)
SETS = [(), (NO_RESTORE,), ANNOTATED, ('webhooks.namespaceSelector={"matchLabels":{"gate":"on"}}',)]
ONLY_AS_THE_CHART = "this account makes webhook configurations only as the chart has them"
ROLE = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "modelgate", "uid": "1"}
HELM = {"meta.helm.sh/release-name": "modelgate", "meta.helm.sh/release-namespace": NAMESPACE}


@cache
def guard(*sets, planted=None):
    """The policies of the chart; ``planted``: with another text in them."""
    text = yaml.safe_dump_all(
        [*of_kind("ValidatingAdmissionPolicy", *sets), *of_kind("ValidatingAdmissionPolicyBinding", *sets)], width=10**6
    )
    if planted:
        old, new = planted
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return NativePolicies.load(documents(*yaml.safe_load_all(text)))


def refusals(policies, operation, obj, old=None, account="modelgate", **more):
    """What is answered to an account of the chart; [] where it may."""
    one = obj or old
    group, _, version = one["apiVersion"].rpartition("/")
    user = {"username": f"system:serviceaccount:{NAMESPACE}:{account}"}
    more = {"resource": f"{one['kind'].lower()}s", "name": one["metadata"]["name"], "user": user, **more}
    request = Request(
        GroupVersionKind(group, version, one["kind"]), operation=operation, object=obj, old_object=old, **more
    )
    return [
        each.text.partition("denied request: ")[2] for each in policies.validate(request, MemoryContext([])).denials
    ]


def stored(configuration):
    """As the API server has it: without an empty list of rules."""
    found = deepcopy(configuration)
    for webhook in found["webhooks"]:
        if not webhook["rules"]:
            del webhook["rules"]
    return found


def named(configuration):
    return f"{configuration['kind'][0]}-{configuration['metadata']['name']}"


EVERY = [stored(each) for each in configurations()]
FULL = [stored(each) for each in configurations(POLICIES)]
ATTEMPTS = [
    pytest.param(each, changed, id=f"{named(each)}-{field}")
    for each in FULL
    for field in (*FIELDS, *METADATA)
    if (changed := with_field(each, field))
]


@pytest.mark.parametrize("sets", SETS)
def test_a_bundle_is_published_and_what_was_deleted_is_put_back(sets):
    policies = guard(*sets)
    for each in map(stored, configurations(*sets)):
        bundled = deepcopy(each)
        bundled["webhooks"][0]["clientConfig"]["caBundle"] = "LS0="
        assert refusals(policies, "UPDATE", bundled, each) == []
        helms = deepcopy(bundled)
        helms["metadata"] |= {
            "annotations": {**each["metadata"].get("annotations", {}), **HELM},
            "ownerReferences": [ROLE],
        }
        for made in (bundled, helms):
            assert bool(refusals(policies, "CREATE", made)) == (NO_RESTORE in sets)


@pytest.mark.parametrize(("before", "changed"), ATTEMPTS)
def test_no_other_field_is_changed(before, changed):
    (refusal,) = refusals(guard(POLICIES), "UPDATE", changed, before)
    assert refusal.startswith("this account changes caBundle only, and no ")


@pytest.mark.parametrize(("before", "changed"), ATTEMPTS)
def test_a_configuration_is_made_with_every_field_as_the_chart_has_it(before, changed):
    assert refusals(guard(POLICIES), "CREATE", changed) == [ONLY_AS_THE_CHART]
    assert refusals(guard(POLICIES), "CREATE", before) == []


@pytest.mark.parametrize("change", [without_a_webhook, with_another_webhook])
@pytest.mark.parametrize("before", EVERY, ids=named)
def test_a_configuration_keeps_its_webhook(before, change):
    assert refusals(guard(), "UPDATE", change(before), before)
    assert refusals(guard(), "CREATE", change(before)) == [ONLY_AS_THE_CHART]


@pytest.mark.parametrize("before", EVERY, ids=named)
def test_a_configuration_is_not_deleted_and_none_of_another_name_is_made(before):
    refused = ["this account deletes no webhook configuration, and makes those of its release only"]
    assert refusals(guard(), "DELETE", None, before) == refused
    other = {**before, "metadata": {**before["metadata"], "name": "other"}}
    assert refusals(guard(), "CREATE", other) == refused


def test_a_configuration_of_one_kind_does_not_stand_for_the_other():
    by_name = {named(each): each for each in EVERY}
    swapped = {**by_name["M-modelgate"], "webhooks": by_name["V-modelgate"]["webhooks"]}
    assert refusals(guard(), "CREATE", swapped) == [ONLY_AS_THE_CHART]


def test_others_are_not_asked_about():
    before = EVERY[0]
    changed = with_field(before, "clientConfig.url")
    assert refusals(guard(), "UPDATE", changed, before, account="another") == []
    assert refusals(guard(), "DELETE", None, before, account="another") == []


WEBHOOK, CLIENT = "k == 'clientConfig'", "k == 'caBundle'"
PLANTED = {
    **{
        each: (f"x.all(k, {WEBHOOK}", f"x.all(k, k in ['clientConfig', '{each.partition('.')[0]}']")
        for each in FIELDS
        if not each.startswith("clientConfig.") and each != "name"
    },
    **{
        each: (f"x.all(k, {CLIENT}", f"x.all(k, k in ['caBundle', '{each.split('.')[1]}']")
        for each in FIELDS
        if each.startswith("clientConfig.service")
    },
    "clientConfig.url": (f"x.all(k, {CLIENT}", "x.all(k, k in ['caBundle', 'url', 'service']"),
    **{each: (f"object.metadata.?{each} == b.metadata.?{each}", "true") for each in METADATA},
}
"""For each field: the comparison, and what it would be without that field."""


@pytest.mark.parametrize("field", PLANTED)
def test_without_its_comparison_each_field_could_be_changed(field):
    """So the tests above fail if a comparison is lost: nothing else refuses the attempt."""
    policies = guard(POLICIES, planted=PLANTED[field])
    tried = [(each, changed) for each in FULL if (changed := with_field(each, field))]
    assert tried
    for before, changed in tried:
        assert refusals(policies, "UPDATE", changed, before) == []
        assert refusals(policies, "CREATE", changed) == []


def test_every_field_has_a_planted_fault():
    assert PLANTED.keys() | {"name"} == FIELDS.keys() | METADATA.keys()


def secret(name="modelgate-ca", kind="kubernetes.io/tls"):
    return {"apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": {"name": name, "namespace": NAMESPACE}}


def token(seconds):
    metadata = {"name": "modelgate-view", "namespace": NAMESPACE}
    spec = {"expirationSeconds": seconds, "audiences": ["https://kubernetes.default.svc"]}
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": metadata, "spec": spec}


def lease(name):
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, "namespace": NAMESPACE}}


TOKENS = {"resource": "serviceaccounts", "subresource": "token", "resource_api": ("", "v1")}
CREATIONS = [
    (secret(), {}, ""),
    (secret("another"), {}, "this account makes the Secret of its CA and no other"),
    (secret(kind="kubernetes.io/service-account-token"), {}, "this account makes the Secret of its CA and no other"),
    (secret(kind="Opaque"), {}, "this account makes the Secret of its CA and no other"),
    (token(3600), TOKENS, ""),
    (token(3601), TOKENS, "this account makes tokens of one hour only"),
    (lease("modelgate-reconciler"), {"account": "modelgate-reconciler"}, ""),
    (lease("another"), {"account": "modelgate-reconciler"}, "this account makes the Lease of its release only"),
]


@pytest.mark.parametrize(("obj", "more", "refusal"), CREATIONS)
def test_the_accounts_create_only_what_their_work_needs(obj, more, refusal):
    more = {"namespace": NAMESPACE, **more}
    assert refusals(guard(), "CREATE", obj, **more) == ([refusal] if refusal else [])
    assert refusals(guard(), "CREATE", obj, **{**more, "account": "another"}) == []


@pytest.mark.parametrize("sets", [('certs.secretName="theirs"',), ('fullnameOverride="theirs"',)])
def test_other_names_reach_the_policies(sets):
    (policy,) = (
        each for each in of_kind("ValidatingAdmissionPolicy", *sets) if "creations" in each["metadata"]["name"]
    )
    assert "'theirs" in policy["spec"]["validations"][0]["expression"]


@pytest.mark.parametrize(
    ("sets", "names"),
    [
        ((), ["ca-bundle-only", "creations"]),
        ((MANAGED,), ["creations"]),
        ((MANAGED, BLIND, "reconciler.enabled=false"), []),
        (("certs.guard=false",), []),
    ],
)
def test_each_policy_is_there_where_an_account_has_what_it_limits(sets, names):
    assert [each["metadata"]["name"] for each in of_kind("ValidatingAdmissionPolicy", *sets)] == [
        f"modelgate-{each}" for each in names
    ]
    for each in of_kind("ValidatingAdmissionPolicyBinding", *sets):
        assert each["spec"] == {"policyName": each["metadata"]["name"], "validationActions": ["Deny"]}


def test_the_policy_about_creations_is_about_what_its_accounts_may_create():
    """But for Events, which are words only, and Reports, which no program acts on."""
    (policy,) = (each for each in of_kind("ValidatingAdmissionPolicy") if "creations" in each["metadata"]["name"])
    limited = {
        resource for rule in policy["spec"]["matchConstraints"]["resourceRules"] for resource in rule["resources"]
    }
    created = {
        key[2]
        for account in ("modelgate", "modelgate-view", "modelgate-reconciler")
        for key, verbs in rights(account).items()
        if "create" in verbs and not key[2].endswith("webhookconfigurations")
    }
    assert created - limited == {"events", *(each for names in REPORTS.values() for each in names)}
