"""Where a Model's weights come from. The tables hold cases of source_test.go and model_source_hfurl_test.go."""

import pytest

from webhook.cluster.view import MemoryView
from webhook.facts.llmkube import FACTS, SourceKind, cache_key, classify_source, parse_hf, parse_pvc, parse_source

KINDS = [
    ("pvc://shared-storage/models/llama/7b/model.gguf", "pvc"),
    ("pvc://claim", "pvc"),
    ("pvc://", "pvc"),
    ("PVC://claim/x", "unclassified"),
    ("/mnt/models/llama.gguf", "local"),
    ("/", "local"),
    ("file:///mnt/models/llama.gguf", "local"),
    ("FILE:///mnt/x", "local"),
    ("file://rel/x", "local"),
    ("https://example.com/model.gguf", "remote-http"),
    ("HTTPS://example.com/model.gguf", "remote-http"),
    ("http://", "remote-http"),
    ("https://huggingface.co/Qwen/Qwen3.6-35B-A3B?library=vllm", "remote-http"),  # hf-repo from 0.9.13 on
    ("hf://org/repo", "hf-repo"),
    ("hf://org/repo@main", "hf-repo"),
    ("hf://org/repo@", "hf-repo"),
    ("hf://a/b/c/d", "hf-repo"),
    ("org/repo", "hf-repo"),
    ("org/", "hf-repo"),
    ("org/repo@v1", "hf-repo"),
    ("a..b/../c", "hf-repo"),
    ("HF://org/repo", "unclassified"),
    ("hf://name", "unclassified"),
    ("hf://", "unclassified"),
    ("hf://@main", "unclassified"),
    ("hf:///org/repo", "unclassified"),
    ("hf://o/r@main branch", "unclassified"),
    ("org/répo", "unclassified"),
    ("org/repo\n", "unclassified"),
    ("-org/repo", "unclassified"),
    ("word", "unclassified"),
    ("", "unclassified"),
    ("s3://bucket/key", "unclassified"),
    ("oci://registry/model", "unclassified"),
]

PVC_ERRORS = [
    ("pvc://", "empty PVC source: pvc://"),
    (
        "pvc://claim",
        "PVC source must include a file path: pvc://claim (expected pvc://claim-name/path/to/model.gguf)",
    ),
    ("pvc:///model.gguf", "PVC source has empty claim name: pvc:///model.gguf"),
    ("pvc:///", "PVC source has empty claim name: pvc:///"),
    ("pvc://my-claim/", "PVC source has empty file path: pvc://my-claim/"),
    ("pvc://my-claim/m.gguf", ""),
    ("pvc://Not_A_Name/../m.gguf", ""),
]

HF_ERRORS = [
    ("hf://", "empty hf repo source: hf://"),
    ("hf://@main", "empty repo ID in hf source: hf://@main"),
    ("hf://org/repo@", "empty revision in hf source: hf://org/repo@"),
    ("hf://org/repo@a b", "hf revision must not contain whitespace: hf://org/repo@a b"),
    ("hf://org/repo@a\u00a0b", "hf revision must not contain whitespace: hf://org/repo@a\u00a0b"),
    ("hf://org/repo@v1.2@x", ""),
    ("org/repo", ""),
]

CACHE_KEYS = [
    ("https://example.com/model.gguf", "8cc5f1f83d631cc0"),
    ("pvc://my-claim/model.gguf", "066676a27d95d0e9"),
    ("hf://org/repo", "1f20013f4e0ce003"),
    ("", "e3b0c44298fc1c14"),
    ("/mnt/models/Llama-3.2-3B-Instruct-Q4_K_M.gguf", "92be79c82e45b2c3"),
]


@pytest.mark.parametrize(("source", "kind"), KINDS)
def test_every_source_is_of_one_kind(source: str, kind: str) -> None:
    assert classify_source(source) == kind
    assert parse_source(source).kind == kind


@pytest.mark.parametrize(("source", "error"), PVC_ERRORS)
def test_a_pvc_source_needs_claim_and_path(source: str, error: str) -> None:
    assert parse_pvc(source).error == error
    assert parse_source(source).error == error


@pytest.mark.parametrize(("source", "error"), HF_ERRORS)
def test_a_hugging_face_source_needs_repo_and_revision(source: str, error: str) -> None:
    assert parse_hf(source).error == error
    assert parse_source(source).error == error


def test_the_parts_of_a_source() -> None:
    volume = parse_source("pvc://shared-storage/models/llama/7b/model.gguf")
    assert (volume.claim, volume.path, volume.error) == ("shared-storage", "models/llama/7b/model.gguf", "")
    repository = parse_source("hf://org/repo@v1.2")
    assert (repository.repo, repository.revision) == ("org/repo", "v1.2")
    assert parse_source("file:///mnt/m.gguf").path == parse_source("/mnt/m.gguf").path == "/mnt/m.gguf"


@pytest.mark.parametrize("source", ["word", "hf://name", "s3://bucket/key", "org/repo\n"])
def test_a_source_of_no_kind_is_an_error_that_says_what_to_write(source: str) -> None:
    assert parse_source(source).error.startswith("neither a URL, an absolute path, pvc://claim/path nor")


def test_a_relative_file_url_is_an_error() -> None:
    assert parse_source("file://rel/x").error == 'local model source must be an absolute path: "file://rel/x"'


@pytest.mark.parametrize(("source", "key"), CACHE_KEYS)
def test_the_cache_key_is_of_the_text_as_written(source: str, key: str) -> None:
    assert cache_key(source) == key


def test_a_cache_key_of_anything() -> None:
    assert cache_key("\ud800") != cache_key("?")


def test_the_fact_is_the_source_as_json() -> None:
    value = FACTS["Model"]["source"].compute({"spec": {"source": "pvc://c/m.gguf"}}, MemoryView())
    assert value == {
        "kind": "pvc",
        "claim": "c",
        "path": "m.gguf",
        "clean": "",
        "repo": "",
        "revision": "",
        "error": "",
    }
    assert type(value["kind"]) is str
    assert set(FACTS["Model"]["source"].schema["properties"]) == set(value)


def test_kinds_print_as_their_value() -> None:
    assert f"{SourceKind.HF_REPO}" == "hf-repo"
