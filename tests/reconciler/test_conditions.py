from datetime import UTC, datetime, timedelta, timezone

from reconciler.projection import Happening
from reconciler.say.conditions import MESSAGE_LIMIT, Condition, find, merged, timestamp
from reconciler.say.events import record
from tests.reconciler.models import model

NOW = datetime(2026, 11, 21, 12, 0, 0, 999999, tzinfo=UTC)
BEFORE = [
    {"type": "A", "status": "True", "reason": "Old", "message": "", "lastTransitionTime": "2020-01-01T00:00:00Z"},
]


def test_a_condition_is_written_as_metav1_does():
    assert merged([], [Condition("A", True, "Why", "because")], 7, NOW) == [
        {
            "type": "A",
            "status": "True",
            "reason": "Why",
            "message": "because",
            "observedGeneration": 7,
            "lastTransitionTime": "2026-11-21T12:00:00Z",
        }
    ]


def test_the_transition_time_stays_while_only_the_reason_changes_and_moves_when_the_status_does():
    (same,) = merged(BEFORE, [Condition("A", True, "New", "m")], 1, NOW)
    (flipped,) = merged(BEFORE, [Condition("A", False, "New", "m")], 1, NOW)
    assert (same["lastTransitionTime"], same["reason"]) == ("2020-01-01T00:00:00Z", "New")
    assert flipped["lastTransitionTime"] == "2026-11-21T12:00:00Z"


def test_a_message_is_cut_to_what_the_api_server_accepts():
    (condition,) = merged([], [Condition("A", True, "R", "x" * 40000)], 1, NOW)
    assert len(condition["message"]) == MESSAGE_LIMIT


def test_a_condition_is_found_by_its_type():
    assert find(BEFORE, "A") is BEFORE[0]
    assert find(BEFORE, "B") is None


def test_a_timestamp_is_in_utc():
    assert timestamp(NOW.astimezone(timezone(timedelta(hours=5)))) == "2026-11-21T12:00:00Z"


def test_a_credential_in_a_message_is_hidden():
    condition = Condition("Degraded", True, "InvalidSource", 'source "https://ann:s3cret@example.com" is not a file')
    (written,) = merged((), [condition], 1, NOW)
    assert written["message"] == 'source "https://***@example.com" is not a file'


def test_a_credential_in_an_event_is_hidden(world):
    told = Happening("Warning", "InvalidSource", "https://h/m?token=s3cret")
    record(world.loop._api, model(), told, NOW)
    (event,) = world.server.all("events")
    assert event["message"] == "https://h/m?token=***"
