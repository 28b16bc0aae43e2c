"""What an address at Hugging Face names for LLMKube 0.9.13 and later."""

import pytest

from webhook.facts.llmkube import classify_page

HOST = "https://huggingface.co"

PAGES = [
    (f"{HOST}/org/repo", "repository"),
    (f"{HOST}/org/repo/", "repository"),
    (f"{HOST}//org//repo", "repository"),
    (f"{HOST}/org/repo?library=vllm", "repository"),
    (f"{HOST}/org/repo#files", "repository"),
    (f"{HOST}/org/repo/tree/main", "repository"),
    (f"{HOST}/org/repo/tree/main/a/b", "repository"),
    (f"{HOST}/org/repo/resolve/main", "repository"),
    (f"{HOST}/org/repo/resolve/main/", "repository"),
    (f"{HOST}/org/repo/blob/v1", "repository"),
    (f"{HOST}/org/repo/discussions/1", "repository"),
    ("http://www.HuggingFace.co/org/repo", "repository"),
    (f"{HOST}/org/repo/resolve/main/m.gguf", "file"),
    (f"{HOST}/org/repo/resolve/main/dir/m.gguf?download=true", "file"),
    (f"{HOST}/org/repo/blob/main/m.gguf", "blob"),
    (f"{HOST}/org", "other"),
    (f"{HOST}/", "other"),
    (f"{HOST}/?a/b/c", "other"),
    (f"{HOST}/datasets/o/r", "other"),
    (f"{HOST}/datasets/o/r/resolve/main/m.gguf", "other"),
    (f"{HOST}/spaces/o/r", "other"),
    (HOST, ""),
    ("https://WWW.huggingface.co/org/repo", ""),
    ("https://huggingface.co.example.com/org/repo", ""),
    ("https://example.com/huggingface.co/org/repo", ""),
    ("hf://org/repo", ""),
    ("org/repo", ""),
    ("", ""),
]


@pytest.mark.parametrize(("source", "page"), PAGES)
def test_an_address_names_a_repository_or_a_file(source: str, page: str) -> None:
    assert classify_page(source) == page
