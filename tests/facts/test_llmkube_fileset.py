"""Which files are staged. The table holds upstream's cases (fileset_test.go, model_controller_test.go)."""

import pytest

from webhook.facts.llmkube import FileSet, resolve_fileset

HF = "hf://unsloth/gemma-4-31B-it-GGUF"

SETS = [
    ([], "", FileSet()),
    (["model.gguf"], "mmproj-F16.gguf", FileSet(("model.gguf", "mmproj-F16.gguf"))),
    (["a.gguf", "b.gguf", "a.gguf"], "", FileSet(("a.gguf", "b.gguf"))),
    (["a.gguf", "p.gguf"], "p.gguf", FileSet(("a.gguf", "p.gguf"))),
    (["dir/a-00001-of-00002.gguf"], "", FileSet(("dir/a-00001-of-00002.gguf",))),
]

LISTING = "requires repository file listing, which is unavailable in production: use explicit file paths"
ERRORS = [
    (HF, [], "mmproj-F16.gguf", "spec.files must include a primary model file when spec.mmproj is set"),
    (HF, ["*.gguf"], "", f'glob pattern "*.gguf" {LISTING}'),
    (HF, ["a.gguf", "b?.gguf"], "", f'glob pattern "b?.gguf" {LISTING}'),
    (HF, ["[ab].gguf"], "", f'glob pattern "[ab].gguf" {LISTING}'),
    (HF, [""], "", 'resolve primary file "": invalid repo-relative path ""'),
    (HF, ["/a.gguf"], "", 'resolve primary file "/a.gguf": invalid repo-relative path "/a.gguf"'),
    (HF, ["a.gguf", "../b.gguf"], "", 'resolve file "../b.gguf": invalid repo-relative path "../b.gguf"'),
    (HF, ["v1..2.gguf"], "", 'resolve primary file "v1..2.gguf": invalid repo-relative path "v1..2.gguf"'),
    (HF, ["a.gguf"], "/p.gguf", 'spec.mmproj: invalid repo-relative path "/p.gguf"'),
    (HF, ["a.gguf"], "p*.gguf", 'spec.mmproj must be a concrete repo-relative path, got glob "p*.gguf"'),
    (HF + "@", ["a.gguf"], "", f"empty revision in hf source: {HF}@"),
    ("hf://", ["a.gguf"], "", "empty hf repo source: hf://"),
    *(
        (source, ["a.gguf"], "", f"multi-file staging requires a HuggingFace repo source, but got: {source}")
        for source in ("pvc://my-claim/m.gguf", "https://h/m.gguf", "/m.gguf", "file:///m.gguf", "word", "hf://name")
    ),
]


@pytest.mark.parametrize(("files", "mmproj", "expected"), SETS)
def test_files_are_staged_in_order_and_once(files: list[str], mmproj: str, expected: FileSet) -> None:
    assert resolve_fileset(HF, files, mmproj) == expected


@pytest.mark.parametrize(("source", "files", "mmproj", "error"), ERRORS)
def test_a_set_that_cannot_be_staged_says_why(source: str, files: list[str], mmproj: str, error: str) -> None:
    assert resolve_fileset(source, files, mmproj) == FileSet(error=error)


def test_a_source_of_one_file_needs_no_repository() -> None:
    assert resolve_fileset("pvc://c/m.gguf", [], "") == FileSet()
