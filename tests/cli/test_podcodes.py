"""The codes of what Kubernetes says of pods, and those of the rules that it replaces."""

import pytest

from webhook.cli import main
from webhook.cli.report.codes import KUBERNETES, retired
from webhook.engine import KUBERNETES_CODES


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("kp001", "would refuse the pods"),
        ("KP002", "with this warning"),
        ("KC002", "the autoscaler"),
        ("KC009", "fault of the description"),
        ("OM371", "KP001"),
        ("LS228", "moved to KC001"),
    ],
)
def test_each_code_is_explained(code, text, capsys):
    assert main(["rule", code]) == 0
    out = capsys.readouterr().out
    assert out.startswith(code.upper())
    assert text in out


def test_a_retired_code_is_never_used_again(loaded):
    used = {code for known in loaded.kinds.values() for code in known.policy.codes}
    assert used.isdisjoint(retired())
    assert used.isdisjoint(KUBERNETES_CODES)
    assert {*KUBERNETES} == {*KUBERNETES_CODES}


def test_a_retired_code_may_still_be_ignored(tmp_path, capsys):
    file = tmp_path / "a.yaml"
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    assert main(["check", "--ignore=OM361,KP001", str(file)]) == 0
    assert "no rule" not in capsys.readouterr().err
