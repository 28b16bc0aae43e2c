"""Objects as YAML on standard output, which may be the log of a CI system."""

from __future__ import annotations

import sys
from typing import Any

import yaml

from webhook.cli.output import inert, is_plain


def dumped(value: Any) -> str:
    """A YAML document, with its ``---``. Lines are not folded: the rest of a text could begin one."""
    text = yaml.dump(value, Dumper=_Dumper, explicit_start=True, sort_keys=False, allow_unicode=True, width=sys.maxsize)
    return inert(str(text))  # what it escapes stands in double quotes


class Plain(yaml.SafeDumper):
    """YAML without anchors, which people do not write: a value that stands twice is written twice."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's
        return True


class _Dumper(Plain):
    """With text in quotes that could forge lines."""

    def write_double_quoted(self, text: str, split: bool = True) -> None:
        """Escape all but ASCII: PyYAML prints the characters that reverse the direction of text."""
        allowed, self.allow_unicode = self.allow_unicode, False
        super().write_double_quoted(text, split)
        self.allow_unicode = allowed


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    node = dumper.represent_str(text)
    if not is_plain(text):
        node.style = '"'
    return node


_Dumper.add_representer(str, _text)
