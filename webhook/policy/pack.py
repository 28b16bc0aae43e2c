"""``pack.yaml``: what is said once of an API, beside its policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from webhook.golang import quantity
from webhook.policy.path import Path
from webhook.policy.problems import NO_OTHERS, TextSchema
from webhook.policy.ranges import Range, version

__all__ = ["PackDocument", "Setting", "Spec"]

_LONGEST: Final = 10_000
"""Characters of one value: a list of host path roots has some hundred."""
_DIGITS: Final = 18
"""Of an integer, without a sign: as many fit into 64 bits."""


def _release(text: str) -> str:
    version(text)
    return text


def _boolean(given: object) -> bool | None:
    """Of the texts only those that all operators read alike."""
    if isinstance(given, str):
        return {"true": True, "false": False}.get(given)
    return given if isinstance(given, bool) else None


def _integer(given: object) -> int | None:
    if isinstance(given, str):
        digits = given.removeprefix("-")
        return int(given) if digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS else None
    return given if isinstance(given, int) and not isinstance(given, bool) and abs(given) < 10**_DIGITS else None


def _string(given: object) -> str | None:
    return given if isinstance(given, str) and len(given) <= _LONGEST else None


def _strings(given: object) -> list[str] | None:
    """A list, or a text as flags have it, with commas."""
    if isinstance(given, str):
        given = [text for part in given[: _LONGEST + 1].split(",") if (text := part.strip())]
    if not isinstance(given, list | tuple) or not all(isinstance(text, str) for text in given):
        return None
    return list(given) if sum(map(len, given)) <= _LONGEST else None


def _quantity(given: object) -> str | None:
    text = str(given) if _integer(given) is not None else _string(given)
    try:
        return text if text is not None and quantity.parse(text) is not None else None
    except ValueError:
        return None


_TEXT: Final = {"type": "string"}
_TYPES: Final[Mapping[str, tuple[Callable[[object], Any], str, Mapping[str, Any]]]] = {
    "boolean": (_boolean, "true or false", {"type": "boolean"}),
    "integer": (_integer, "an integer", {"type": "integer"}),
    "string": (_string, "a text", _TEXT),
    "strings": (_strings, "a list of texts, or one text with commas", {"type": "array", "items": _TEXT}),
    "quantity": (_quantity, "a quantity such as 100Gi", _TEXT),
}
"""What reads a value of each type (None: it is of another one), what errors call it, and its schema in rules."""


def _range(text: str) -> str:
    Range.parse(text)
    return text


def _path(text: str) -> str:
    if not Path.parse(text).single:
        raise ValueError("must be the path of one value, without [*]")
    return text


Value = Annotated[str, TextSchema(least=1, check=_path)]
Argument = Annotated[str, TextSchema(r"^--?[A-Za-z0-9][A-Za-z0-9_.-]*$", most=100)]
Variable = Annotated[str, TextSchema(r"^[A-Za-z_][A-Za-z0-9_]*$", most=100)]
Releases = Annotated[str, TextSchema(strip=True, check=_range)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting of the operator, which rules read as ``facts.operator.<name>``.

    ``default`` is what the operator does where nothing is given; without it, the value is then not known, and rules ask
    ``has(facts.operator.<name>)``. ``releases``: range → what the operator does in these releases instead.
    ``operator`` are the releases that have the setting: in others what is given does not count. ``values`` are its
    paths in the values of the Helm chart, ``arguments`` the flags and ``environment`` the variables of the operator's
    container.
    """

    __pydantic_config__ = NO_OTHERS
    type: Literal["boolean", "integer", "string", "strings", "quantity"]
    docs: Annotated[str, TextSchema(least=1, strip=True)]
    default: Any = None
    releases: dict[Releases, Any] = field(default_factory=dict)
    operator: Releases | None = None
    values: list[Value] = field(default_factory=list)
    arguments: list[Argument] = field(default_factory=list)
    environment: list[Variable] = field(default_factory=list)

    def __post_init__(self) -> None:
        read, wanted, _ = _TYPES[self.type]
        stated = [] if self.default is None else [("default", self.default)]
        for name, value in (*stated, *((f"releases: {text}", value) for text, value in self.releases.items())):
            if read(value) != value:
                raise ValueError(f"{name}: {str(value)[:60]!r} is not {wanted}")

    def unset(self, holds: Callable[[str], bool]) -> Any:
        """What counts where nothing is given, in a release of which ranges hold; None if it is not known."""
        return next((value for text, value in self.releases.items() if holds(text)), self.default)

    def value(self, given: object) -> Any:
        """A value as JSON, from a document or from the text of a flag or variable.

        Raises:
            ValueError: it is of another type; it says which one is asked for.
        """
        read, wanted, _ = _TYPES[self.type]
        value = read(given)
        if value is None:
            raise ValueError(f"{str(given)[:60]!r} is not {wanted}")
        return value

    @property
    def schema(self) -> Mapping[str, Any]:
        """The type by which rules that read it are checked."""
        return _TYPES[self.type][2]


Name = Annotated[str, TextSchema(least=1, most=60, strip=True)]
Release = Annotated[str, TextSchema(check=_release)]
Code = Annotated[str, TextSchema(r"^[A-Z]{2}[0-9]{3}$")]
SpecField = Annotated[str, TextSchema(r"^spec[.][A-Za-z][A-Za-z0-9]*$", most=100)]
Group = Annotated[str, TextSchema(r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$", most=253)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """``operator``: its name in texts. ``documented``: the release that rules without a range and the definitions in
    ``crds`` describe; an API without it knows no releases. ``described``: the release of which ranges hold where
    nothing says which one runs, if rules describe the operator of another one than the definitions. ``codes``: the two
    letters with which its codes begin; no other pack may have them. ``facts``: the facts of Modelgate that its rules
    read, which are those of an API. ``groups``: the groups of its kinds. ``served``: group → the kinds of the operator
    that have no rules, of any release. ``successors``: a group of such kinds → the one that it replaces. ``images``:
    what the images of the operator are called that writes the status of its kinds. ``charts``: its Helm charts;
    ``appVersions``: version of a chart → release, where they differ; ``tags``: where the values of a chart name the tag
    of the operator's image. ``repositories``: how the addresses of its repositories end. ``retired``: codes of rules
    that are gone; ``moved``: of those that are gone the code that says the same now, of what the operator makes.
    ``settings``: those of the operator that its rules read, by name. ``shapes``: field of other releases → the field of
    the documented one that it replaces: an object with it is judged as of those where nothing says which one runs.
    """

    __pydantic_config__ = NO_OTHERS
    operator: Name
    documented: Release | None = None
    described: Release | None = None
    codes: list[Annotated[str, TextSchema(r"^[A-Z]{2}$")]] = field(default_factory=list)
    facts: str = ""
    groups: list[Group] = field(default_factory=list)
    served: dict[Group, list[Name]] = field(default_factory=dict)
    successors: dict[Group, Group] = field(default_factory=dict)
    images: list[Name] = field(default_factory=list)
    charts: list[Name] = field(default_factory=list)
    appVersions: dict[Name, Release] = field(default_factory=dict)  # noqa: N815 - Helm's word
    tags: list[Value] = field(default_factory=list)
    repositories: list[Annotated[str, TextSchema(r"^[^/\s]+/[^\s]*[^/\s]$", most=200)]] = field(default_factory=list)
    retired: list[Code] = field(default_factory=list)
    moved: dict[Code, Code] = field(default_factory=dict)
    settings: dict[Annotated[str, TextSchema(r"^[A-Za-z_][A-Za-z0-9_]*$", most=60)], Setting] = field(
        default_factory=dict
    )
    shapes: dict[SpecField, SpecField] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Metadata:
    __pydantic_config__ = NO_OTHERS
    name: str


@dataclass(frozen=True, slots=True)
class PackDocument:
    __pydantic_config__ = NO_OTHERS
    apiVersion: Literal["modelgate.dev/v1alpha1"]  # noqa: N815 - the spelling of Kubernetes documents
    kind: Literal["Pack"]
    metadata: Metadata
    spec: Spec
