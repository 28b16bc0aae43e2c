"""Policies that are read from files decide as those that were compiled, and only if the files can be trusted."""

from __future__ import annotations

import linecache
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

from tests.definitions import definitions
from tests.fuzz.ways import compare
from webhook import catalog
from webhook.admission.decision import GroupVersionKind
from webhook.admission.errors import CatalogError
from webhook.catalog import POLICIES, Catalog, Pack, releases, ship
from webhook.catalog.folders import Loaded, load_shipped
from webhook.catalog.kept import _PARTS, SHIPPED, Kept, code_digest
from webhook.catalog.kinds import NO_POLICY
from webhook.policy import Policy

COUNT = 24
MODEL = GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")

Load = Callable[..., Catalog]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, load_anew: Load, compile_anew: Callable[..., Policy]) -> Path:
    """All policies, as an image has them."""
    found = tmp_path_factory.mktemp("kept") / "compiled"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalog, "load", load_anew)
        patch.setattr(releases, "compiled_source", compile_anew)
        ship(found)
    return found


@pytest.fixture
def one(tmp_path: Path, folder: Path) -> Path:
    """The file of one kind."""
    (file,) = folder.glob("Model.*")
    return Path(shutil.copy(file, tmp_path))


def read(file: Path, load: Load) -> Policy | None:
    """The policy in the file, None if it is not used."""
    loaded = load()
    return Kept(loaded.files, file.parent).read(MODEL, loaded.kinds[MODEL].schema)


def test_every_kind_is_kept_and_nothing_is_compiled_again(
    folder: Path, load_anew: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webhook.catalog.catalog.compiled", lambda known: pytest.fail(str(known.gvk)))
    loaded = load_anew(shipped=folder).compiled()
    assert (
        len(list(folder.iterdir()))
        == len(list(definitions()))
        == len([each for each in loaded.kinds.values() if each.policy is not NO_POLICY])
    )


@pytest.mark.parametrize("kind", ["Model", "InferenceService", "AIMService"])
def test_they_decide_the_same(kind: str, folder: Path, load_anew: Load, loaded: Catalog) -> None:
    result = compare(kind, COUNT, load_anew(shipped=folder), loaded)
    assert not result.different, str(result)
    assert result.compared.total() == COUNT


@pytest.mark.parametrize("kind", ["Model", "AIMImage"])
def test_what_is_not_kept_is_made_when_it_is_needed(kind: str, folder: Path, load_anew: Load, loaded: Catalog) -> None:
    (gvk,) = (each for each in loaded.kinds if each.kind == kind)
    one, other = loaded.kinds[gvk], load_anew(shipped=folder).kinds[gvk]
    assert [each.document for each in other.sources] == [each.document for each in one.sources]
    for rule, again in zip(one.policy.validations, other.policy.validations, strict=True):
        assert repr(again.rule.program.tree()) == repr(rule.rule.program.tree())
        assert again.rule.program.result == rule.rule.program.result
        texts = [each and each.text for each in (rule.rule.program.generated(), again.rule.program.generated())]
        assert texts[0] == texts[1]


def test_a_server_keeps_no_syntax_tree_of_kinds_that_may_never_be_judged(load_anew: Load) -> None:
    kinds = load_anew(shipped=Path("absent")).compiled().kinds
    rules = [rule for known in kinds.values() for rule in known.policy.validations]
    assert rules
    assert not [rule for rule in rules if rule.rule.program.evaluate_exactly.origin.kept]


def test_a_server_keeps_no_document_of_a_policy(load_anew: Load) -> None:
    loaded = load_anew(shipped=Path("absent"))
    (source, *_) = loaded.kinds[MODEL].sources
    before = source.document
    loaded.compiled()
    assert source.document is not before
    assert source.document == before


def test_a_built_in_file_that_has_changed_is_not_read_again(tmp_path: Path) -> None:
    folder = tmp_path / "llmd"
    shutil.copytree(POLICIES / "llmd", folder)
    load_shipped(loaded := Loaded(), Pack.of(folder, trusted=True))
    (known,) = loaded.kinds.values()
    (file,) = folder.glob("crds/*.yaml")
    file.write_text(file.read_text() + "\n# changed")
    with pytest.raises(CatalogError, match="has changed since Modelgate was started"):
        _ = known.schema.root


def test_tracebacks_show_the_source_of_functions_that_were_read(folder: Path, load_anew: Load) -> None:
    program = load_anew(shipped=folder).kinds[MODEL].policy.validations[0].rule.program
    assert "def run(V, n=None):" in "".join(linecache.getlines(program.evaluate.__code__.co_filename))


def test_an_unchanged_file_is_used(one: Path, load_anew: Load) -> None:
    assert read(one, load_anew) is not None


@pytest.mark.parametrize("position", [0, 31, 32, 63, 64, 5000, -1])
def test_a_file_with_another_byte_is_not_used(position: int, one: Path, load_anew: Load) -> None:
    content = bytearray(one.read_bytes())
    content[position] ^= 1
    one.write_bytes(content)
    assert read(one, load_anew) is None


@pytest.mark.parametrize("length", [0, 1, 63, 64, 1000])
def test_a_file_that_is_cut_off_is_not_used(length: int, one: Path, load_anew: Load) -> None:
    one.write_bytes(one.read_bytes()[:length])
    assert read(one, load_anew) is None


def test_a_file_for_other_policies_or_other_code_is_not_used(one: Path, load_anew: Load) -> None:
    loaded = load_anew()
    assert Kept(b"other policies", one.parent).read(MODEL, loaded.kinds[MODEL].schema) is None


def test_the_digest_is_of_all_packages_that_decide() -> None:
    modules = "webhook.catalog.catalog, webhook.catalog.pickling, webhook.engine, webhook.policy.compile"
    program = (
        f"import sys, {modules}; print(*{{each.split('.')[1] for each in sys.modules if each.startswith('webhook.')}})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert set(done.stdout.split()) == {*_PARTS}


def test_files_are_compiled_again_from_compiled_ones(folder: Path, tmp_path: Path) -> None:
    """As the second time in a checkout, where the first ones are read."""
    shutil.copytree(folder, tmp_path / "again")
    ship(tmp_path / "again")
    assert {each.name for each in (tmp_path / "again").iterdir()} == {each.name for each in folder.iterdir()}


def test_files_are_read_from_where_only_the_installer_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder of the user, the environment or the tree that is checked is asked for code."""
    schema = catalog.load().kinds[MODEL].schema
    code_digest()  # reads our own modules, once per process
    seen: set[str] = set()
    monkeypatch.setattr(Path, "read_bytes", lambda path: seen.add(str(path.parent)) or b"")
    for name in ("HOME", "XDG_CACHE_HOME", "TMPDIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert Kept(b"").read(MODEL, schema) is None
    assert seen == {str(POLICIES / SHIPPED)}


def test_everyone_can_read_the_files_and_only_the_installer_writes_them(folder: Path) -> None:
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o644}
    assert folder.stat().st_mode & 0o777 == 0o755


def test_a_built_in_definition_is_read_in_part_first_and_then_whole(load_anew: Load) -> None:
    """As a user's are read, all at once and checked."""
    built_in, given = load_anew(), catalog.load(files("policies"))
    assert [*built_in.kinds] == [*given.kinds]
    for gvk, whole in given.kinds.items():
        part = built_in.kinds[gvk]
        assert (part.plural, part.namespaced, part.status) == (whole.plural, whole.namespaced, whole.status)
        assert part.schema.raw == whole.schema.raw
