"""What the gate, other policies and the API server answer to an empty patch."""

import pytest

from tests.reconciler.apiserver import PAUSE
from tests.reconciler.looping import ASK, CONDITION, PATH, STATUS
from tests.reconciler.models import model
from tests.reconciler.world import Gate
from webhook.admission.stamp import UNSTAMPED


def test_without_a_gate_nothing_is_done_and_it_is_reported(acting):
    acting.server.admission = lambda obj: obj
    acting.server.put("models", model())
    acting.reconcile()
    assert acting.verdict() == ("False", "GateAbsent")
    assert acting.status().keys() == {"conditions"}
    assert acting.events() == [("Warning", "GateAbsent")]


def test_an_absent_gate_is_asked_at_growing_intervals_of_at_most_five_minutes(acting):
    acting.server.admission = lambda obj: obj
    acting.server.put("models", model())
    acting.reconcile()
    for seconds in (5, 10, 20, 40, 80, 160, 300, 300):
        assert acting.wait_of(seconds - 0.1) == 0
        assert acting.wait_of(0.1) == 1
        assert acting.server.writes() == [ASK]
    acting.server.admission = Gate(acting.rules, acting.view)
    acting.wait_of(300)
    assert acting.status()["phase"] == "Ready"


def test_a_gate_that_fails_closed_is_absent_and_the_reason_is_kept(world):
    world.server.put("models", model())
    world.server.fail("PATCH", PATH, 500, 'failed calling webhook "validate.modelgate.dev": connection refused')
    world.reconcile()
    assert world.verdict() == ("False", "GateAbsent")
    assert "connection refused" in world.condition()["message"]


def test_a_refusal_by_another_policy_is_named_as_such(world):
    world.server.put("models", model())
    world.server.fail("PATCH", PATH, 403, 'admission webhook "other.example" denied the request: no')
    world.reconcile()
    assert world.verdict() == ("False", "Refused")
    assert world.condition()["message"].startswith("another admission policy refuses")
    assert "other.example" in world.condition()["message"]
    assert world.wait_of(59.9) == 0
    assert world.wait_of(0.1) == 1
    assert world.verdict() == ("True", "Stamped")


def test_what_the_gate_only_tolerates_is_refused_with_all_the_reasons(world):
    world.server.admission = lambda obj: obj
    first, second = "spec.source: no (LK201)", "spec.files: … (LK202)"
    world.server.warnings = [UNSTAMPED + first, "spec.sha256: never verified (LK301)", UNSTAMPED + second]
    world.server.put("models", model())
    world.reconcile()
    assert world.verdict() == ("False", "Refused")
    assert world.condition()["message"] == f"{first}; {second}"


def test_a_missing_right_to_patch_is_not_said_of_the_object(world, caplog):
    world.server.put("models", model())
    world.server.fail("PATCH", PATH, 403, 'models "m" is forbidden: User "x" cannot patch resource "models"')
    world.reconcile()
    assert world.status() == {}
    assert "cannot patch" in caplog.text
    world.wait_of(1)
    assert world.verdict() == ("True", "Stamped")


@pytest.mark.parametrize("code", [0, 409, 500, 503])
@pytest.mark.parametrize(("method", "path"), [ASK, STATUS])
def test_an_error_is_tried_again_at_growing_intervals(acting, caplog, code, method, path):
    acting.server.put("models", model())
    acting.server.fail(method, path, code, times=3)
    acting.reconcile()
    for seconds in (1, 2, 4):
        assert acting.status() == {}
        assert acting.wait_of(seconds) >= 1
    assert acting.status()["phase"] == "Ready"
    assert "retry in 4 s" in caplog.text


@pytest.mark.parametrize(("method", "path"), [ASK, STATUS])
def test_an_api_server_with_too_much_to_do_is_asked_again_when_it_says(acting, method, path):
    acting.server.put("models", model())
    acting.server.fail(method, path, 429)
    acting.reconcile()
    assert acting.wait_of(PAUSE - 1) == 0
    assert acting.wait_of(1) >= 1
    assert acting.status()["phase"] == "Ready"


def test_after_a_success_the_intervals_begin_anew(acting, caplog):
    acting.server.put("models", model())
    acting.server.fail("PATCH", PATH, 500, times=2)
    acting.reconcile()
    acting.wait_of(1)
    acting.wait_of(2)
    caplog.clear()
    acting.server.fail("PATCH", PATH, 500)
    acting.server.put("models", model(source="hf://other/repo"))
    acting.reconcile()
    assert "retry in 1 s" in caplog.text


def test_an_object_deleted_between_judgement_and_write_is_not_an_error(world, caplog):
    world.server.put("models", model())
    world.server.fail("PATCH", PATH, 404)
    world.reconcile()
    assert caplog.text == ""


@pytest.mark.parametrize("path", [CONDITION, STATUS])
def test_an_object_deleted_before_its_status_is_written_is_not_an_error(world, acting, caplog, path):
    used = acting if path == STATUS else world
    used.server.put("models", model())
    used.server.fail(*path, 404)
    used.reconcile()
    assert path in used.server.writes()
    assert caplog.text == ""
