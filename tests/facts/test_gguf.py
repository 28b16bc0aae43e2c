"""What the names of files give away."""

import pytest

from webhook.facts.names import missing_shards


@pytest.mark.parametrize(
    ("files", "missing"),
    [
        ([], ""),
        (["a.gguf"], ""),
        (["a-00001-of-00002.gguf", "a-00002-of-00002.gguf"], ""),
        (["a-00001-of-00002.gguf"], "a-00002-of-00002.gguf"),
        (["a-00001-of-00004.gguf"], "a-00002-of-00004.gguf, a-00003-of-00004.gguf, a-00004-of-00004.gguf"),
        (["a-00000-of-00001.gguf", "a-00009-of-00001.gguf"], "a-00001-of-00001.gguf"),
        (
            ["a-00005-of-00005.gguf", "b-00001-of-00003.gguf"],
            "a-00001-of-00005.gguf, a-00002-of-00005.gguf, a-00003-of-00005.gguf and 3 more",
        ),
    ],
)
def test_missing_shards_are_named_or_counted(files: list[str], missing: str) -> None:
    assert missing_shards(files) == missing


def test_a_billion_missing_shards_are_counted_without_a_walk() -> None:
    said = missing_shards(f"m{number}-00001-of-99999.gguf" for number in range(10_000))
    assert said == "m0-00002-of-99999.gguf, m0-00003-of-99999.gguf, m0-00004-of-99999.gguf and 999979997 more"
