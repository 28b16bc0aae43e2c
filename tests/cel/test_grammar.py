"""The grammar is cel-python's, as its package ships it; without it, or with another, nothing starts."""

import os
import shutil
import subprocess
import sys
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import lark
import pytest

from webhook.cel.syntax import celpython, parser
from webhook.cel.syntax.treebuilder import TreeBuilder

MODEL = "apiVersion: inference.llmkube.dev/v1alpha1\nkind: Model\nmetadata: {name: m}\nspec: {source: pvc://c/m.gguf}\n"
ROOT = Path(__file__).parents[2]
CHECK = ["-m", "webhook", "check", "-"]


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, *arguments],
        check=False,
        capture_output=True,
        text=True,
        input=MODEL,
        cwd=ROOT,
        env={**os.environ, **environment},
    )


@pytest.fixture
def another(tmp_path):
    """A folder with a cel-python 0.5.9 whose grammar reads ``and`` for ``&&``."""
    shipped = files("celpy").joinpath("cel.lark").read_text()
    (tmp_path / "cel_python-0.5.9.dist-info").mkdir()
    (tmp_path / "celpy").mkdir()
    (tmp_path / "celpy" / "__init__.py").touch()
    (tmp_path / "celpy" / "cel.lark").write_text(shipped.replace('"&&"', '"and"'))
    return str(tmp_path)


def test_the_grammar_is_the_file_of_the_installed_package():
    shipped = files("celpy").joinpath("cel.lark").read_bytes()
    assert celpython.grammar_hash() == sha256(shipped).hexdigest()
    assert celpython.folder() / "cel.lark" == files("celpy").joinpath("cel.lark")


def test_the_saved_tables_name_the_files_and_versions_they_were_made_from():
    key = parser.TABLES.read_bytes().partition(b"\n")[0].decode()
    assert celpython.grammar_hash() in key
    assert sha256(parser.OVERLAY.read_bytes()).hexdigest() in key
    assert f"cel-python {celpython.version()} " in key
    assert f"lark {lark.__version__} " in key
    assert parser.fresh(), "run: make grammar"


def test_the_rules_that_the_overlay_does_not_change_are_those_of_the_package(another, monkeypatch):
    used = parser.parser().rules
    assert used == parser.build().rules
    monkeypatch.setattr(celpython, "folder", lambda: Path(another) / "celpy")
    monkeypatch.setattr(celpython, "GRAMMAR_HASH", celpython.grammar_hash())
    built = parser.build()
    assert built.parse("true and false").expr.function == "_&&_"
    with pytest.raises(lark.UnexpectedInput):
        parser.parser().parse("true and false")


def test_each_rule_has_its_callback():
    rules = {rule.origin.name for rule in parser.build().rules}
    assert [rule for rule in rules if not rule.startswith("_") and not hasattr(TreeBuilder, rule)] == []
    callbacks = {name for name in vars(TreeBuilder) if not name.startswith("_")}
    assert callbacks - rules == set()


@pytest.mark.parametrize("command", ["check", "test", "fields"])
def test_without_cel_python_the_command_says_so_and_stops(command):
    program = "import sys; sys.modules['celpy'] = None; from webhook.cli import main; sys.exit(main(sys.argv[1:]))"
    done = run("-c", program, command, *["-"][: command == "check"])
    assert done.returncode == 2
    assert done.stderr == (
        f"modelgate {command}: cel-python is not installed: run pip install 'cel-python>=0.5,<0.6'\n"
    )


def test_the_requirement_of_the_message_is_that_of_the_package():
    assert f'"{celpython.REQUIREMENT}"' in (ROOT / "pyproject.toml").read_text()


@pytest.mark.parametrize("command", [CHECK, ["-m", "webhook", "serve"]])
def test_a_cel_python_with_another_grammar_is_refused_at_start(another, command):
    done = run(*command, PYTHONPATH=another)
    assert done.returncode == 2
    assert done.stderr == (
        f"modelgate {command[2]}: cel-python 0.5.9 has a different grammar (cel.lark): "
        "install a version in cel-python>=0.5,<0.6 that has the grammar of 0.5.0\n"
    )


def test_a_cel_python_without_a_grammar_is_refused_at_start(another):
    (Path(another) / "celpy" / "cel.lark").unlink()
    done = run(*CHECK, PYTHONPATH=another)
    assert done.returncode == 2
    assert done.stderr.startswith("modelgate check: cannot read cel-python's grammar: ")
    assert done.stderr.count("\n") == 1


def test_no_tables_are_made_from_another_grammar(another):
    before = parser.TABLES.read_bytes()
    done = run("-m", "webhook.cel.syntax.parser", PYTHONPATH=another)
    assert done.returncode == 1
    assert done.stderr.startswith("cel-python 0.5.9 has a different grammar")
    assert done.stderr.count("\n") == 1
    assert parser.TABLES.read_bytes() == before


def test_another_release_with_the_same_grammar_is_the_same_language(another):
    shutil.copy(celpython.folder() / "cel.lark", Path(another) / "celpy")
    done = run(*CHECK, PYTHONPATH=another)
    assert done.returncode == 0, done.stderr


def test_a_check_imports_nothing_of_cel_python():
    done = run("-X", "importtime", *CHECK)
    assert done.returncode == 0
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert {"webhook", "lark"} <= imported
    assert imported & {"celpy", "pendulum", "jmespath"} == set()
