"""`modelgate certs issue`, as it is typed."""

import argparse
import json
import logging
import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from certs.keeper import Look
from certs.publish import Configuration, Live
from tests.certs.world import BOTH, SECOND, World
from tests.serve.conftest import until
from tests.shared import ROOT
from webhook.cli import certs, main


def issue(directory, *flags):
    return main(["certs", "issue", f"--tls-dir={directory}", *flags])


def test_it_issues_once_and_says_what(tmp_path, capsys):
    assert issue(tmp_path) == 0
    printed = capsys.readouterr().out
    made, issued = printed.splitlines(keepends=True)
    assert made.startswith("made CN=modelgate CA ")
    assert issued.startswith("issued for localhost, 127.0.0.1, ::1 (there was none), by CN=modelgate CA ")
    assert printed.endswith(f", of directory {tmp_path}/ca\n")
    assert issue(tmp_path) == 0
    assert capsys.readouterr().out == ""


def test_the_names_are_those_of_the_service_and_those_that_are_added(tmp_path, capsys):
    assert issue(tmp_path, "--service=ns/gate", "--dns", "localhost", "10.0.0.1") == 0
    names = "gate.ns.svc, gate.ns.svc.cluster.local, gate.ns, localhost, 10.0.0.1"
    assert f"\nissued for {names} (" in capsys.readouterr().out


def test_two_directories_share_one_store(tmp_path):
    for name in "ab":
        assert issue(tmp_path / name, f"--store=dir:{tmp_path}/ca") == 0
    assert (tmp_path / "a" / "ca.crt").read_bytes() == (tmp_path / "b" / "ca.crt").read_bytes()
    assert (tmp_path / "a" / "tls.crt").read_bytes() != (tmp_path / "b" / "tls.crt").read_bytes()


@pytest.mark.parametrize(
    ("flag", "complaint"),
    [
        ("--store=file:x", "--store 'file:x' is neither dir:PATH nor secret:NAMESPACE/NAME"),
        ("--store=dir:", "--store 'dir:' is neither"),
        ("--store=secret:x", "'x' is not NAMESPACE/NAME"),
        ("--service=gate", "'gate' is not NAMESPACE/NAME"),
        ("--service=a/b/c", "'a/b/c' is not NAMESPACE/NAME"),
        ("--publish=modelgate", "'modelgate' is neither mutating/NAME nor validating/NAME"),
        ("--publish=mutating/", "'mutating/' is neither"),
        ("--account=ns/viewer", "--account and --account-dir go together"),
        ("--account-dir=view", "--account and --account-dir go together"),
    ],
)
def test_what_does_not_parse_is_a_usage_error(tmp_path, capsys, flag, complaint):
    with pytest.raises(SystemExit, match="64"):
        issue(tmp_path / "tls", flag)
    assert complaint in capsys.readouterr().err
    assert not (tmp_path / "tls").exists()


def test_what_cannot_be_done_is_one_sentence(tmp_path, capsys):
    (tmp_path / "ca").mkdir()
    (tmp_path / "ca" / "tls.crt").write_text("hello")
    assert issue(tmp_path) == 2
    assert capsys.readouterr().err == (
        f"modelgate certs: directory {tmp_path}/ca: tls.key is missing or empty. "
        "Correct or delete it. After a deletion, a new CA is made, and the one before stays trusted "
        "until its leaves are dead.\n"
    )
    assert issue(tmp_path, f"--store=dir:{tmp_path}/other", "--dns", "*.example") == 2
    assert "'*.example' is neither an IP address nor a DNS name" in capsys.readouterr().err


def task(directory):
    parser = argparse.ArgumentParser()
    certs.add_parser(parser.add_subparsers())
    return certs._Task(parser.parse_args(["certs", "issue", f"--tls-dir={directory}", "--watch"]))


def test_what_fails_while_it_watches_is_logged_and_tried_again(tmp_path, caplog):
    caplog.set_level(logging.INFO, "modelgate")
    watched = task(tmp_path)
    watched.once()
    assert json.loads((tmp_path / "status.json").read_text())["phase"] == "steady"
    key = (tmp_path / "ca" / "tls.key").read_bytes()
    happenings = [
        lambda: (tmp_path / "ca" / "tls.key").write_bytes(b""),
        lambda: None,  # it is said once
        lambda: (tmp_path / "ca" / "tls.key").write_bytes(key),
        lambda: (tmp_path / "tls.crt").write_bytes(b""),
    ]

    def stopped(_seconds):
        if not happenings:
            return True
        happenings.pop(0)()
        return False

    caplog.clear()
    watched.watch(stopped, 3)
    fault, over, issued = caplog.records
    assert (fault.levelname, over.levelname, issued.levelname) == ("ERROR", "INFO", "INFO")
    assert "tls.key is missing or empty" in fault.message
    assert over.message == f"over: {fault.message}"
    assert issued.message.startswith("issued for")
    assert (tmp_path / "tls.crt").read_bytes()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_watch_ends_when_it_is_told_to(tmp_path, number):
    command = [sys.executable, "-m", "webhook", "certs", "issue", f"--tls-dir={tmp_path}", "--watch"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert "INFO modelgate: made CN=" in process.stderr.readline()
    assert "INFO modelgate: issued for" in process.stderr.readline()
    process.send_signal(number)
    assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == 0


def test_a_watch_outlives_a_suspension(tmp_path):
    command = [sys.executable, "-m", "webhook", "certs", "issue", f"--tls-dir={tmp_path}", "--look-seconds=0.01"]
    process = subprocess.Popen(
        [*command, "--watch"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert "INFO modelgate: made CN=" in process.stderr.readline()
    assert "INFO modelgate: issued for" in process.stderr.readline()
    until((tmp_path / "status.json").exists, "the first look is over")
    for _ in range(5):
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        before = (tmp_path / "status.json").read_text()
        process.send_signal(signal.SIGCONT)
        until(lambda before=before: (tmp_path / "status.json").read_text() != before, "it looks again")
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == 0


def test_what_was_not_foreseen_is_a_fault_and_not_the_end(tmp_path, caplog):
    watched = task(tmp_path)
    watched._keeper = replace(watched._keeper, clock=lambda: 1 / 0)
    pauses = iter([False, True])
    watched.watch(lambda _seconds: next(pauses), 3)
    assert "internal fault: ZeroDivisionError: division by zero" in caplog.text
    assert json.loads((tmp_path / "status.json").read_text())["faults"] != []


def test_a_configuration_that_does_not_come_is_named():
    lives = (Live(Configuration("mutating", "gate")),)
    error = certs._incomplete(Look(None, None, lives))
    named = "mutating/gate: there is no MutatingWebhookConfiguration of that name with a webhook in it"
    assert str(error).startswith(f"{named}, so the gate is not asked; restore it: helm upgrade")


def test_a_configuration_that_is_deleted_is_reported_after_ten_seconds_and_when_it_is_back(tmp_path, caplog):
    caplog.set_level(logging.INFO, "modelgate")
    world, watched = World(tmp_path), task(tmp_path / "0")
    (replica,) = world.replicas
    watched._keeper, watched._now = replica.keeper, lambda: world.now
    replica.look()
    caplog.clear()
    path = BOTH[1].path
    kept = world.objects[path]
    happenings = [
        lambda: world.objects.pop(path),
        lambda: world.tick(9 * SECOND),
        lambda: world.tick(SECOND),
        lambda: world.objects.__setitem__(path, kept),
    ]
    said = []

    def stopped(_seconds):
        said.append([each.getMessage() for each in caplog.records if "validating/gate" in each.getMessage()])
        if happenings:
            happenings.pop(0)()
        return len(said) == 5

    watched.watch(stopped, 3)
    assert [len(each) for each in said] == [0, 0, 0, 1, 2]
    assert said[-1][1] == f"over: {said[-1][0]}"


def test_a_token_alone_needs_an_account_and_a_directory(tmp_path, capsys):
    with pytest.raises(SystemExit, match="64"):
        main(["certs", "token", f"--account-dir={tmp_path}"])
    assert "the following arguments are required: --account" in capsys.readouterr().err


def test_what_the_sidecar_does_not_use_is_not_imported(tmp_path):
    unused = {
        "kubernetes",
        "pydantic",
        "re2",
        "urllib3",
        "webhook.admission.decision",
        "webhook.schema",
        "webhook.cel.program",
    }
    program = (
        "import sys; from webhook.cli import main; main(sys.argv[1:]); "
        f"sys.exit(sorted({unused} & {{part for each in sys.modules for part in (each, each.split('.')[0])}}))"
    )
    command = [sys.executable, "-c", program, "certs", "issue", f"--tls-dir={tmp_path}"]
    done = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True, check=False)
    assert done.stderr == "[]\n"
