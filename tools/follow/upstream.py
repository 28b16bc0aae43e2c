"""What is followed of an upstream: ``follow.yaml`` in the folder of its pack.

A gate does not read it, and the digest of the policies does not cover it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from webhook.admission.errors import DocumentError, Problem
from webhook.manifests import files
from webhook.manifests.documents import parse
from webhook.policy.problems import problems
from webhook.policy.ranges import version

FILE: Final = "follow.yaml"
_WATCHES: Final = re.compile(r"^watches:.*?(?=^[^\s#\-\[\]{}]|\Z)", re.MULTILINE | re.DOTALL)
"""The key with its list, in whatever style, up to the next key."""

Text = Annotated[str, StringConstraints(min_length=1)]


def _release(text: str) -> str:
    version(text)
    return text


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Watch(_Model):
    """A Go function, constant or variable on which rules depend.

    ``function`` is its ``Name``, or ``Type.Name`` of a method. ``sha256`` is of its text at the release at which it was
    last looked at; a watch without it is new. ``lookAt`` is the release since which the text is another one: then it is
    not known whether the rules are still true.
    """

    file: Text
    function: Annotated[str, StringConstraints(pattern=r"^\w+(\.\w+)?$")]
    codes: Annotated[list[Text], Field(min_length=1)]
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None
    lookAt: Text | None = None  # noqa: N815 - the spelling of Kubernetes documents

    def __str__(self) -> str:
        return f"{self.file}: {self.function}"


class Upstream(_Model):
    """``tags``: what stands before the version in the tags of releases; ``since`` is the first release that counts, and
    ``until`` the last one, where later ones have none of the kinds. ``candidates``: those count, too.

    ``crds``, ``samples``: globs of files. ``definitions``: the names of those that the operator installs itself, and
    always; ``others`` are those that do not matter, with ``*``. ``schema``: the codes whose claim is in a definition
    alone, so that its changes name them; each other code of the API has a watch. ``described``: the commit of which the
    rules are true, where that is not the newest release; what a function is there counts as looked at.
    """

    apiVersion: Literal["modelgate.dev/v1alpha1"]  # noqa: N815 - the spelling of Kubernetes documents
    kind: Literal["Upstream"]
    tags: Annotated[list[str], Field(min_length=1)]
    since: Annotated[str, AfterValidator(_release)]
    until: Annotated[str, AfterValidator(_release)] | None = None
    candidates: bool = False
    described: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")] | None = None
    crds: Annotated[list[Text], Field(min_length=1)]
    definitions: Annotated[list[Text], Field(min_length=1)]
    others: list[Text] = []
    samples: list[Text] = []
    of_schema: list[Text] = Field([], alias="schema")
    watches: list[Watch] = []

    @property
    def codes(self) -> frozenset[str]:
        """The codes that something is known to decide."""
        return frozenset(self.of_schema).union(*(each.codes for each in self.watches))


def read(file: Path) -> Upstream:
    """What is followed of an upstream.

    Raises:
        DocumentError: the file cannot be read, or has mistakes.
    """
    try:
        text = files.content(file).decode()
    except (OSError, ValueError) as error:
        raise DocumentError([Problem(str(file), "", f"cannot be read: {error}")]) from None
    found = parse(text, str(file))
    if len(found) != 1:
        raise DocumentError([Problem(str(file), "", "must have one document")])
    try:
        return Upstream.model_validate(found[0].value)
    except ValidationError as error:
        raise DocumentError(problems(found[0], error)) from None


def write(file: Path, watches: Sequence[Watch]) -> None:
    """Write the watches in place of those that are there; the rest of the file stays as it is. Without any, all does.

    Raises:
        DocumentError: the file has watches, but not by a key at the start of a line.
    """
    if not watches:
        return
    lines = (f"- {json.dumps(each.model_dump(exclude_none=True))}\n" for each in watches)
    text = "".join(["watches:\n", *lines])
    new, count = _WATCHES.subn(lambda _: text, file.read_text())
    if count != 1:
        message = "write it at the start of a line, once, so that it can be updated"
        raise DocumentError([Problem(str(file), "watches", message)])
    file.write_text(new)
