"""What comes of a finding: by the profile, and by the Enforcements and PolicyExceptions in force."""

import pytest

from tests.enforcement.policies import degrees, enforcement, exception
from tests.engine.test_unstated import KIND, load, thing
from webhook import catalog, engine
from webhook.admission.decision import GroupVersionKind, Request
from webhook.admission.stamp import ANNOTATION, Stamp
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.policy import PolicyFault, Profile

MODEL = GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")
LOADED = catalog.load()
VIEW = MemoryView()
BAD = {"source": "hf://org/repo", "hardware": {"memoryFraction": 1.5}}  # LK223: warned of, denied under strict
PODS = {"source": "hf://org/repo", "resources": {"cpu": "1"}}


def model(spec, namespace="a"):
    metadata = {"name": "m", "namespace": namespace}
    return {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "Model", "metadata": metadata, "spec": spec}


def decided(*policies, spec=BAD, old=None, profile="standard", namespaces=None, call=engine.validate, **options):
    obj = model(spec)
    request = Request(MODEL, "models", "UPDATE" if old else "CREATE", obj, old and model(old), name="m", namespace="a")
    current = degrees(*policies, namespaces=namespaces)
    return call(request, LOADED, VIEW, Options(profile=Profile(profile), degrees=current, **options))


def seen(decision):
    """What comes of LK223."""
    if any(cause.code == "LK223" for cause in decision.causes):
        return "deny"
    if any(warning.code == "LK223" for warning in decision.warnings):
        return "warn"
    return next((each.action for each in decision.muted if each.finding.code == "LK223"), "nothing")


STRICT = {"a": {"modelgate.dev/profile": "strict"}}
OFF = enforcement(action="off", codes=["LK223"])
AUDIT = enforcement(action="audit")
WARN = enforcement(action="warn", codes=["LK2*"])
DENY = enforcement(action="deny", codes=["LK223"])
EXCEPT = exception(codes=["LK223"], names=["m"])
TABLE = [
    # policies, without a label under each profile, with the label strict under each profile
    ([], {"audit": "warn", "standard": "warn", "strict": "deny"}, "deny"),
    ([OFF], dict.fromkeys(Profile, "nothing"), "nothing"),
    ([AUDIT], dict.fromkeys(Profile, "audit"), "deny"),
    ([WARN], dict.fromkeys(Profile, "warn"), "deny"),
    ([DENY], dict.fromkeys(Profile, "deny"), "deny"),
    ([enforcement(action="deny")], dict.fromkeys(Profile, "deny"), "deny"),
    ([DENY, EXCEPT], dict.fromkeys(Profile, "except"), "except"),
]


@pytest.mark.parametrize(("policies", "unlabelled", "labelled"), TABLE)
def test_what_comes_of_a_finding(policies, unlabelled, labelled):
    assert {profile: seen(decided(*policies, profile=profile)) for profile in Profile} == unlabelled
    assert {seen(decided(*policies, profile=profile, namespaces=STRICT)) for profile in Profile} == {labelled}


def test_a_denial_by_an_enforcement_is_as_one_of_a_stricter_profile():
    (cause,) = decided(DENY).causes
    (same,) = (cause for cause in decided(profile="strict").causes if cause.code == "LK223")
    assert cause == same


def test_a_denial_by_a_group_of_codes_leaves_advice_as_it_is_and_one_by_a_code_does_not():
    """LK336 only warns, also under the profile strict."""
    for group in (enforcement(action="deny"), enforcement(action="deny", codes=["LK3*", "LK2*"])):
        decision = decided(group)
        assert [cause.code for cause in decision.causes] == ["LK223"]
        assert "LK336" in {warning.code for warning in decision.warnings}
    assert "LK336" in {cause.code for cause in decided(enforcement(action="deny", codes=["LK336"])).causes}


def test_an_update_is_not_refused_for_what_it_does_not_change_whatever_denies():
    decision = decided(DENY, old=BAD)
    assert decision.allowed
    assert "not refused, because this update does not change it" in str(decision.warnings)


@pytest.mark.parametrize("policies", [[], [OFF], [AUDIT], [WARN], [DENY], [EXCEPT]])
@pytest.mark.parametrize("profile", Profile)
def test_no_policy_changes_the_stamp(policies, profile):
    """An object that a rule refuses gets its stamp before: it is not stored."""
    stamps = {
        decided(*each, profile=profile, call=engine.mutate).object["metadata"]["annotations"][ANNOTATION]
        for each in ([], policies)
    }
    assert len(stamps) == 1


def test_an_update_that_keeps_a_fault_is_stamped_while_an_exception_is_in_force():
    def is_stamped(*policies):
        obj = decided(*policies, old=BAD, call=engine.mutate).object
        return Stamp.matching(obj) is not None

    assert not is_stamped(DENY)
    assert is_stamped(DENY, EXCEPT)


MISTYPED = {"source": "hf://org/repo", "format": 7}
EVERYTHING = [
    enforcement("a", action="audit"),
    enforcement("o", action="off", codes=["LK*", "KP*"]),
    exception("x", codes=["LK*", "KP*"], names=["m"]),
]


def test_what_the_api_server_refuses_is_refused_whatever_is_in_force():
    before, after = (decided(*each, spec=MISTYPED).causes for each in ([], EVERYTHING))
    assert [cause.label for cause in after] == ["schema", "schema"]
    assert before == after


def test_under_the_audit_profile_a_file_is_refused_only_for_what_the_api_server_refuses():
    of_file, of_gate = (decided(spec=MISTYPED, profile="audit", strict_fields=strict) for strict in (True, False))
    assert [cause.field for cause in of_file.causes] == ["spec.format"] * 2
    assert not any(warning.message.startswith("would be refused: ") for warning in of_file.warnings)
    assert of_gate.causes == ()
    assert [f"would be refused: {cause.message}" for cause in of_file.causes] == [
        warning.message for warning in of_gate.warnings if warning.field == "spec.format"
    ]


def test_what_protects_the_gate_is_refused_whatever_is_in_force():
    large = {"source": "hf://org/repo", "files": [f"f{number}" for number in range(60_000)]}
    (cause,) = decided(*EVERYTHING, spec=large).causes
    assert cause.label == "size"
    (cause,) = decided(*EVERYTHING, steps=5).causes
    assert "takes more than" in cause.message


def test_a_rule_that_is_off_is_not_run_so_that_a_wrong_one_cannot_stop_anything(tmp_path):
    loaded = load(tmp_path, "spec", "[self.text][int(self.port)] == ''", when="has(self.text) && has(self.port)")
    request = Request(KIND, "things", "CREATE", thing({"text": "bad", "port": 7}), name="a", namespace="n")
    with pytest.raises(PolicyFault):
        engine.validate(request, loaded, VIEW)
    current = degrees(enforcement(action="off", codes=["EX201"]))
    (cause,) = engine.validate(request, loaded, VIEW, Options(degrees=current)).causes
    assert cause.code == "EX202"


def test_what_is_muted_is_in_the_audit_log():
    assert decided(AUDIT).audit["muted"] == "LK223=audit/e,LK322=audit/e,LK336=audit/e"
    assert decided(EXCEPT).audit["muted"] == "LK223=except/x"
    assert "codes" not in decided(AUDIT).audit
    assert "muted" not in decided(WARN).audit
