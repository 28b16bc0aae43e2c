"""Policies that are read from files decide as those that were compiled, and only if the files can be trusted."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

from tests.fuzz.ways import compare
from webhook.admission.request import GroupVersionKind
from webhook.engine import catalog
from webhook.engine.catalog import Catalog
from webhook.engine.kept import Kept
from webhook.engine.kept.ship import ship
from webhook.manifests.private import PrivateFolder
from webhook.policy import Policy

COUNT = 24
MODEL = GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")

Load = Callable[..., Catalog]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, load_anew: Load) -> PrivateFolder:
    """All policies, as a start leaves them."""
    found = PrivateFolder(tmp_path_factory.mktemp("kept") / "modelgate")
    loaded = load_anew(cache=found)
    loaded.compiled()
    loaded.keep(complete=True)
    return found


@pytest.fixture
def one(tmp_path: Path, load_anew: Load) -> Path:
    """The file of one kind."""
    first = load_anew(cache=PrivateFolder(tmp_path / "one"))
    assert first.find(MODEL) is not None
    first.keep()
    (file,) = (tmp_path / "one").iterdir()
    return file


def read(file: Path, load: Load) -> Policy | None:
    """The policy in the file, None if it is not used."""
    loaded = load()
    digest = loaded.kinds._kept.digest  # type: ignore[attr-defined]
    return Kept(digest, PrivateFolder(file.parent)).read(MODEL, loaded.kinds[MODEL].schema)


def test_every_kind_is_kept_and_nothing_is_compiled_again(folder: PrivateFolder, load_anew: Load) -> None:
    loaded = load_anew(cache=folder)
    loaded.compiled()
    assert len(list(folder.path.iterdir())) == len(loaded.kinds) == 19
    assert not loaded.kinds._new  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["Model", "InferenceService", "AIMService"])
def test_they_decide_the_same(kind: str, folder: PrivateFolder, load_anew: Load, loaded: Catalog) -> None:
    result = compare(kind, COUNT, load_anew(cache=folder), loaded)
    assert not result.different, str(result)
    assert result.compared.total() == COUNT


@pytest.mark.parametrize("kind", ["Model", "AIMImage"])
def test_what_is_not_kept_is_made_when_it_is_needed(
    kind: str, folder: PrivateFolder, load_anew: Load, loaded: Catalog
) -> None:
    (gvk,) = (each for each in loaded.kinds if each.kind == kind)
    one, other = loaded.kinds[gvk], load_anew(cache=folder).kinds[gvk]
    assert [each.document for each in other.sources] == [each.document for each in one.sources]
    for rule, again in zip(one.policy.validations, other.policy.validations, strict=True):
        assert again.rule.program.tree() == rule.rule.program.tree()
        assert again.rule.program.result == rule.rule.program.result
        texts = [each and each.text for each in (rule.rule.program.generated(), again.rule.program.generated())]
        assert texts[0] == texts[1]


def test_tracebacks_show_the_source_of_functions_that_were_read(folder: PrivateFolder, load_anew: Load) -> None:
    program = load_anew(cache=folder).kinds[MODEL].policy.validations[0].rule.program
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
    assert Kept(b"other policies", PrivateFolder(one.parent)).read(MODEL, loaded.kinds[MODEL].schema) is None


def test_a_command_replaces_a_file_that_it_cannot_use(one: Path, load_anew: Load) -> None:
    one.write_bytes(b"damaged")
    loaded = load_anew(cache=PrivateFolder(one.parent))
    assert loaded.find(MODEL) is not None
    loaded.keep()
    assert read(one, load_anew) is not None


def test_nothing_is_kept_without_a_folder(load_anew: Load) -> None:
    loaded = load_anew()
    assert loaded.find(MODEL) is not None
    loaded.keep()


def test_an_image_has_files_that_everyone_can_read(
    tmp_path: Path, load_anew: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "load", load_anew)
    ship(tmp_path / "shipped")
    assert {file.stat().st_mode & 0o777 for file in (tmp_path / "shipped").iterdir()} == {0o644}
    assert (tmp_path / "shipped").stat().st_mode & 0o777 == 0o755


def test_a_built_in_definition_is_read_in_part_first_and_then_whole(load_anew: Load) -> None:
    """As a user's are read, all at once and checked."""
    built_in, given = load_anew(), catalog.load(files("policies"))
    assert [*built_in.kinds] == [*given.kinds]
    for gvk, whole in given.kinds.items():
        part = built_in.kinds[gvk]
        assert (part.plural, part.namespaced, part.status) == (whole.plural, whole.namespaced, whole.status)
        assert part.schema.raw == whole.schema.raw
