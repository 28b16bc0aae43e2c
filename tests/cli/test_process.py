"""The command as a process: what a shell, a pipe or a full disk sees of it."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import modelgate
from webhook.cli import main

MODEL = (
    "apiVersion: inference.llmkube.dev/v1alpha1\nkind: Model\nmetadata: {name: good}\nspec: {source: pvc://c/m.gguf}\n"
)
COMMAND = (sys.executable, "-m", "webhook")


def run(*arguments: str, **more: Any) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run([*COMMAND, *arguments], check=False, stderr=subprocess.PIPE, **more)


@pytest.mark.parametrize("arguments", [("fields",), ("export", "policies"), ("rule", "LK205"), ("check", "-")])
def test_a_closed_pipe_ends_a_command_without_a_traceback(arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = run(*arguments, stdout=writing, input=MODEL.encode())
    os.close(writing)
    assert done.returncode == 141
    assert b"Traceback" not in done.stderr
    assert b"BrokenPipe" not in done.stderr


def test_output_that_cannot_be_written_is_reported_as_a_failure() -> None:
    with Path("/dev/full").open("wb") as full:
        done = run("check", "-", stdout=full, input=MODEL.encode())
    assert (done.returncode, done.stderr) == (
        2,
        b"modelgate check: cannot write the output: no space is left on the device\n",
    )


def test_without_any_output_the_exit_code_is_still_the_answer() -> None:
    done = subprocess.run(["sh", "-c", f"{' '.join(COMMAND)} check - >&-"], input=MODEL.encode(), check=False)
    assert done.returncode == 0


def test_an_empty_or_closed_stdin_is_an_error_of_check() -> None:
    done = run("check", "-", stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stderr) == (2, b"modelgate check: stdin: no object found\n")
    shell = subprocess.run(["sh", "-c", f"{' '.join(COMMAND)} check - <&-"], capture_output=True, check=False)
    assert (shell.returncode, shell.stderr) == (2, b"modelgate check: stdin: cannot be read: it is closed\n")


def test_what_json_may_nest_yaml_may_too() -> None:
    text = f"apiVersion: v1\nkind: Endpoints\nmetadata: {{name: x}}\nspec: {'[' * 900}{']' * 900}\n"
    assert run("check", "-", input=text.encode(), stdout=subprocess.DEVNULL).returncode == 0
    assert run("normalise", "-", input=text.encode(), stdout=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize("command", ["check", "normalise"])
def test_text_is_utf_8_whatever_the_locale(command: str) -> None:
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    text = MODEL.replace("name: good", "name: gööd")
    done = run(command, "-", stdout=subprocess.PIPE, input=text.encode(), env=environment)
    assert "gööd" in done.stdout.decode()
    assert run("check", "-", input=b"apiVersion: ome.io/v1beta1 \xff\xfe").returncode == 2


def test_the_name_of_a_file_may_be_any_bytes(tmp_path: Path) -> None:
    file = os.fsencode(tmp_path) + b"/\xff.yaml"
    Path(os.fsdecode(file)).write_text(MODEL)
    done = run("check", str(tmp_path), stdout=subprocess.PIPE)
    assert done.returncode == 0
    assert done.stderr.startswith(b"1 checked, 0 refused, 0 with warnings, 0 skipped\n")
    assert rb"/\xff.yaml:1: Model " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("test", "{}/nowhere"), "No such file or directory"),
        (("test", "{}/file"), "Not a directory"),
        (("check", "{}"), "no object found"),
        (("normalise", "{}/file"), "no object found"),
    ],
)
def test_an_input_that_is_absent_or_empty_is_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, str], sentence: str
) -> None:
    (tmp_path / "file").touch()
    assert main([each.format(tmp_path) for each in arguments]) == 2
    assert sentence in capsys.readouterr().err


INTERRUPTED = """
import sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "%s":
            raise KeyboardInterrupt

import modelgate

sys.meta_path.insert(0, Interrupt())
sys.argv = ["modelgate", "check", "-"]
sys.exit(modelgate.main())
"""


@pytest.mark.parametrize("module", ["webhook.cli", "webhook.cli.shell.running", "webhook.engine", "webhook.cli.check"])
def test_an_interrupt_during_the_imports_is_quiet(module: str) -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED % module], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (130, b"")


def test_an_interrupt_at_work_is_quiet(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "modelgate", "check", str(pipe)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        with pipe.open("w"):  # waits until the command reads; its end lets a read return that had begun just then
            process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert (process.stderr.read(), process.wait()) == (b"", 130)


def test_an_older_python_is_told_which_one_is_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 13))
    assert (modelgate.main(), capsys.readouterr().err) == (2, "modelgate: needs Python 3.11 or newer\n")


def test_a_watched_file_is_checked_again_when_it_changes_also_after_a_mistake(tmp_path: Path) -> None:
    file = tmp_path / "model.yaml"
    file.write_text(MODEL)
    command = [*COMMAND, "check", "--watch", "--no-config", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert "accepted" in _until(process, "watching 1 file;")
        file.write_text(f"{MODEL[:-2]}, format: onnx}}\n")
        assert "REFUSED" in _until(process, "watching 1 file;")
        file.write_text("kind: Model: x")
        assert "modelgate check: " in _until(process, "watching 1 file;")
        file.write_text(MODEL)
        assert "accepted" in _until(process, "watching 1 file;")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


def _until(process: "subprocess.Popen[str]", last: str) -> str:
    """What a process prints up to a line."""
    assert process.stdout is not None
    text = ""
    for line in process.stdout:
        if line.startswith(last):
            break
        text += line
    return text


@pytest.mark.parametrize("more", [("-",), ("-o", "json", "x.yaml")])
def test_only_people_watch_files(more: tuple[str, ...]) -> None:
    done = run("check", "--watch", *more, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stderr[:25]) == (64, b"modelgate check: --watch:")
