import pytest

from reconciler.projections.hostpath import refusal


@pytest.mark.parametrize(
    ("path", "roots"),
    [
        ("/models/m.gguf", ["/models"]),
        ("/models/m.gguf", ["/models/"]),
        ("/models", ["/models"]),
        ("/models/a/../m.gguf", ["/models"]),
        ("//models//m.gguf", ["/models"]),
        ("/models/m.gguf", ["/other", " /models "]),
        ("/data/x/m.gguf", ["/data/./x"]),
        ("/anything", ["/"]),
    ],
)
def test_a_path_inside_a_root_is_allowed(path, roots):
    assert refusal(path, path, roots) == ""


@pytest.mark.parametrize(
    ("path", "roots", "why"),
    [
        ("/models-evil/m.gguf", ["/models"], "is not within any allowed root [/models]"),
        ("/models/../etc/passwd", ["/models"], "is not within any allowed root"),
        ("/", ["/models"], "is not within any allowed root"),
        ("/m", ["/a", "/b"], "[/a /b]"),
        ("/models/m", [], "disabled"),
        ("/models/m", ["", "  ", "models", "./models"], "disabled"),
        ("rel/m", ["/"], "must be an absolute path"),
        ("", ["/"], "must be an absolute path"),
    ],
)
def test_any_other_path_is_refused_with_a_reason_that_names_the_source(path, roots, why):
    text = refusal(f"file://{path}", path, roots)
    assert why in text
    assert f'"file://{path}"' in text
