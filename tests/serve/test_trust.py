"""What the server says about the certificate that it serves: by the files beside it, and by a clock of the test's."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from certs.authority import Authority
from certs.files import replace
from certs.issue import issue
from certs.lifetimes import Lifetimes
from certs.names import LOCAL
from tests.certs.material import DAY, NOW, ca
from webhook.serve.gate import Gate
from webhook.serve.server import _Files
from webhook.serve.tls import Certificate, Trust


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


class Served:
    """A directory with a leaf, and a gate that serves it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.clock, self.authority = folder, Clock(), ca()
        issue(folder, self.authority, LOCAL, NOW)
        self.gate = Gate()
        self.trust = self.gate.readiness.trust = Trust(folder, self.clock)
        self.gate.metrics.registry.register(self.trust)
        self.look = _Files(self.gate, self.trust, Certificate(folder, self.trust.serve)).check
        self.look()

    def status(self, **content: object) -> None:
        text = json.dumps({"looked_at": self.clock.now.timestamp(), **content})
        (self.folder / "status.json").write_text(text)
        self.look()

    def unready(self) -> list[str]:
        return [each for each in self.gate.unready() if "certificate" in each]

    def metrics(self) -> str:
        return self.gate.metrics.text().decode()


@pytest.fixture
def served(tmp_path: Path) -> Served:
    return Served(tmp_path)


def test_a_good_certificate_is_not_mentioned(served: Served) -> None:
    assert (served.unready(), served.gate.readiness.refused) == ([], "")


def test_an_expired_certificate_makes_the_gate_unready(served: Served) -> None:
    served.clock.now += Lifetimes().leaf
    assert served.unready() == [
        "the served certificate expired on 2031-05-13 07:08:09 UTC, by this machine's clock",
    ]


def test_a_clock_that_is_behind_is_to_be_corrected_and_the_certificate_to_be_kept(served: Served) -> None:
    served.clock.now -= 2 * DAY
    served.look()
    assert served.unready() == []
    assert served.gate.readiness.refused.endswith("this machine's clock says 2031-05-04 07:08:09: correct the clock")


def test_a_certificate_outside_the_bundle_beside_it_makes_the_gate_unready(served: Served) -> None:
    before = {name: (served.folder / name).read_bytes() for name in ("tls.crt", "tls.key")}
    replace(served.folder, before | {"ca.crt": ca().bundle})
    served.look()
    assert served.unready() == ["the served certificate is not signed by a CA in ca.crt beside it"]
    replace(served.folder, before | {"ca.crt": ca().bundle + served.authority.bundle})
    served.look()
    assert served.unready() == []


def test_without_a_bundle_beside_it_a_certificate_is_not_judged(served: Served) -> None:
    (served.folder / "ca.crt").unlink()
    served.look()
    assert served.unready() == []


def test_a_certificate_that_no_configuration_trusts_makes_the_gate_unready(served: Served) -> None:
    served.status(configurations={"mutating/a": "refusing", "validating/a": "refusing", "mutating/b": "absent"})
    assert served.unready() == ["no webhook configuration trusts the CA of the served certificate"]
    served.status(configurations={"mutating/a": "current", "validating/a": "refusing"})
    assert served.unready() == []
    assert served.gate.readiness.refused == "validating/a does not trust the CA of the served certificate"


def test_a_configuration_that_is_gone_is_in_readyz_and_the_gate_stays_ready(served: Served) -> None:
    served.status(configurations={"mutating/a": "current", "validating/a": "absent"})
    assert (served.unready(), served.gate.readiness.refused) == (
        [],
        "validating/a does not exist, so objects are not reviewed",
    )


def test_a_configuration_that_was_changed_is_in_readyz_and_the_gate_stays_ready(served: Served) -> None:
    served.status(configurations={"mutating/a": "current", "validating/a": "changed"})
    assert (served.unready(), served.gate.readiness.refused) == (
        [],
        "validating/a is not as the chart has it, so objects may not be reviewed",
    )
    assert 'modelgate_ca_bundle_state{configuration="validating/a",state="changed"} 1.0' in served.metrics()


def test_the_faults_of_the_sidecar_are_in_readyz_and_go_with_them(served: Served) -> None:
    served.status(faults=[{"reason": "ApiRefused", "message": "PUT /x: HTTP 403: no"}])
    assert (served.unready(), served.gate.readiness.refused) == ([], "PUT /x: HTTP 403: no")
    served.status(faults=[])
    assert served.gate.readiness.refused == ""


def test_the_word_of_a_sidecar_that_is_silent_counts_no_more(served: Served) -> None:
    served.status(configurations={"mutating/a": "refusing"})
    served.clock.now += timedelta(seconds=61)
    served.look()
    assert (served.unready(), served.gate.readiness.refused) == ([], "modelgate certs has not looked for 61s")


@pytest.mark.parametrize("text", ["", "{", "[]", "1", '{"faults": 1, "configurations": [], "looked_at": "x"}'])
def test_a_spoiled_status_is_unknown(served: Served, text: str) -> None:
    (served.folder / "status.json").write_text(text)
    served.look()
    assert served.unready() == []
    assert "modelgate_ca_bundle_state{" not in served.metrics()


def test_the_metrics_tell_both_ends_and_the_state_of_each_bundle(served: Served) -> None:
    served.status(configurations={"mutating/a": "current", "validating/a": "behind"})
    served.clock.now += timedelta(seconds=7)
    ends = NOW + Lifetimes().leaf, NOW + Lifetimes().ca
    shown = served.metrics()
    read = {line.split()[0]: float(line.split()[1]) for line in shown.splitlines() if line[0] != "#"}
    assert read["modelgate_certificate_not_after_seconds"] == ends[0].timestamp()
    assert read["modelgate_ca_not_after_seconds"] == ends[1].timestamp()
    assert 'modelgate_ca_bundle_state{configuration="validating/a",state="behind"} 1.0' in shown
    assert "modelgate_certs_silence_seconds 7.0" in shown


def test_a_refused_pair_is_said_once_and_counted_once(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    (served.folder / "tls.key").resolve().write_text("not a key")
    for _ in range(3):
        served.look()
    assert caplog.text.count("is not used") == 1
    assert "modelgate_certificates_refused_total 1.0" in served.metrics()
    assert "is not used" in served.gate.readiness.refused
    issue(served.folder, Authority.create(NOW), LOCAL, NOW)
    served.look()
    assert served.gate.readiness.refused == ""
