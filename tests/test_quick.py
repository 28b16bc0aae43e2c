"""`make quick` runs the tests that a change needs."""

import pytest

from tests import quick


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("webhook/cel/syntax/parser.py", ("tests/cel",)),
        ("webhook/facts/inputs.json", ("tests/facts",)),
        ("reconciler/loop.py", ("tests/reconciler",)),
        ("certs/keeper.py", ("tests/certs",)),
        ("tools/charts/readme.py", ("tests/tools",)),
        ("policies/llmkube/model.yaml", ("tests/policies",)),
        ("chart/values.yaml", ("tests/chart",)),
        ("tests/vap/test_bindings.py", ("tests/vap/test_bindings.py",)),
        ("tests/test_laws.py", ("tests/test_laws.py",)),
        ("tests/house/numbers.yaml", ("tests/house",)),
        ("tests/quick.py", ("tests/test_quick.py",)),
        ("docs/ways.md", quick.TEXTS),
        ("Makefile", quick.TEXTS),
        ("webhook/__main__.py", ()),
        ("LICENSE", ()),
    ],
)
def test_the_path_of_a_changed_file_names_its_tests(changed, tests):
    assert quick.mirrored(changed) == tests


def test_a_test_runs_once_and_a_missing_one_does_not():
    changed = ["webhook/cel/a.py", "tests/cel/test_types.py", "tests/cel/test_that_was_removed.py", "webhook/gone/a.py"]
    assert quick.selection(changed, []) == sorted(["tests/cel", *quick.ALWAYS])


def test_what_make_check_leaves_out_is_left_out():
    changed = ["tests/e2e/test_kinds.py", "tests/serve/test_server.py"]
    assert quick.selection(changed, ["tests/e2e", "tests/serve/test_server.py"]) == sorted(quick.ALWAYS)


def test_every_package_has_tests_where_the_mapping_looks_for_them():
    packages = [path.name for path in (quick.ROOT / "webhook").iterdir() if (path / "__init__.py").exists()]
    assert [name for name in (*packages, *quick.PACKAGES) if not (quick.ROOT / "tests" / name).is_dir()] == []
