"""YAML composed as go-yaml v2 does: libyaml's events in, a value that JSON has out, in one loop without recursion.

A merge (``<<``) counts by its position: what stands later wins. Aliases are bounded while they are expanded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import yaml
from yaml._yaml import CParser

from webhook.golang.errors import GoError
from webhook.golang.json import copied
from webhook.golang.yaml import HINTS, MERGE, has_too_many_aliases, key_text, kustomized, number, scalar
from webhook.manifests.places import Place, Remark, Spot

NESTING: Final = 1000
"""The maximum depth of a document, about that of JSON in an admission review."""
_VALUES: Final = 2_000_000
"""The maximum number of keys and values of a document: four times what fits into the API server's 3 MiB."""
_EXPANDED: Final = 16 << 20
"""The maximum number of characters that aliases add to a document: five times the API server's 3 MiB."""
_NO_KEY: Final = object()
_MERGING: Final = object()
_ITEM: Final = object()
_MAX_REPEATS: Final = 20
"""Keys written twice that are named: one cause may make all of them."""
_KINDS: Final = {dict: "an object", list: "a list"}
_TOO_DEEP: Final = f"nested more than {NESTING} levels deep"
_NOT_MERGED: Final = "map merge requires map or sequence of maps as the value"
_DUPLICATE: Final = 'duplicate key "{}": kubectl takes the last one, kustomize refuses the file'
_OVERRIDDEN: Final = (
    'kubectl takes the value of "{0}" that is merged here, kustomize the one above it: move << above "{0}"'
)
_TAB: Final = "a tab in the indentation: YAML takes only spaces"
_IGNORED: Final = 'kubectl reads nothing from here to the next line "---": begin the next document with it'


class YamlError(GoError):
    """A text that is not YAML as kubectl reads it; ``line`` counts from 0."""

    def __init__(self, line: int, message: str, *, may_be_a_template: bool = False) -> None:
        super().__init__(message)
        self.line = line
        self.may_be_a_template = may_be_a_template


class Composed(NamedTuple):
    """A document: ``line`` is where it begins, ``items`` the lines of the items of its list (all from 0).

    ``repeats`` are the keys that are written again in one mapping, of which the last counts.
    """

    value: Any
    line: int
    items: list[int]
    remarks: list[Remark]
    repeats: list[Remark]
    spot: Spot | None


class _Anchored(NamedTuple):
    """What an anchor names; ``height`` is -1 for a collection that is still open."""

    value: Any
    height: int = -1
    nodes: int = 0
    size: int = 0
    spot: Spot | None = None


class _Open:
    """A collection whose end has not come; ``key`` is what comes next in it."""

    __slots__ = ("height", "key", "lines", "named", "nodes", "own", "size", "spot", "start", "value")

    def __init__(self, value: Any, start: Any, nodes: int, size: int, spot: Spot | None) -> None:
        self.value = value
        self.start = start
        self.height = 0
        self.key: Any = _ITEM if value.__class__ is list else _NO_KEY
        self.named: Spot | None = None  # the spot of the key
        self.own: Any = value  # the keys that are not merged
        self.lines: list[int] | None = None  # of items, if they are wanted
        self.nodes, self.size = nodes, size
        self.spot = spot

    @property
    def step(self) -> str | int:
        """The key or the index of what is being read."""
        if self.key is _ITEM:
            return len(self.value)
        return self.key if isinstance(self.key, str) else "<<"


def compose(text: str, line: int = 0, *, places: bool = False) -> Composed | None:
    """The first document of a text that begins at a line; None if it has none. ``places`` gives its spots, too.

    Raises:
        YamlError: it is not YAML, is too deep or too large, or goes on after its end.
    """
    composer = _Composer(text, line, places=places)
    try:
        return composer.document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        words = _TAB if _is_tab(text, mark) else ": ".join(part for part in (error.context, error.problem) if part)
        raise YamlError(line + (mark.line if mark else 0), words, may_be_a_template=True) from None
    except yaml.YAMLError as error:  # a character that YAML does not allow
        position = getattr(error, "position", 0)
        raise YamlError(
            line + text.count("\n", 0, position), " ".join(str(error).split()), may_be_a_template=True
        ) from None
    finally:
        composer.parser.dispose()


def _is_tab(text: str, mark: Any) -> bool:
    """Whether an error is about a tab, which libyaml does not name."""
    return mark is not None and text[mark.index : mark.index + 1] == "\t"


class _Composer:
    def __init__(self, text: str, line: int, *, places: bool) -> None:
        self.parser = CParser(text)
        self._line = line
        self._places = places
        self._root = self._top = _Open([], None, 0, 0, None)
        self._open = [self._root]
        self._anchors: dict[str, _Anchored] = {}
        self._nodes = self._aliased = self._size = self._expanded = 0
        self._items: list[int] = []
        self._remarks: list[Remark] = []
        self._repeats: list[Remark] = []
        self._spot: Spot | None = None

    def document(self) -> Composed | None:
        get, result = self.parser.get_event, self._root.value
        get()  # the start of the stream
        if not isinstance(get(), yaml.DocumentStartEvent):
            return None
        event: Any = get()
        line = self._line + event.start_mark.line
        _HANDLERS[type(event)](self, event)
        while not result:
            event = get()
            _HANDLERS[type(event)](self, event)
        self._after(get())
        return Composed(result[0], line, self._items, self._remarks, self._repeats, self._spot)

    def _after(self, end: Any) -> None:
        """Refuse what kubectl, kustomize and Flux leave out without a word."""
        try:
            if isinstance(self.parser.get_event(), yaml.StreamEndEvent):
                return
        except yaml.YAMLError:
            pass
        raise self._error(end, _IGNORED)

    def _error(self, event: Any, message: str) -> YamlError:
        return YamlError(self._line + event.start_mark.line, message)

    def _scalar(self, event: Any) -> None:
        raw, top = event.value, self._top
        self._count(event, len(raw))
        if not raw or event.tag is not None or raw[0] in HINTS or event.style == ">":  # most texts are only texts
            if top.key is _NO_KEY and raw == "<<" and (event.implicit[0] or event.tag == MERGE):
                self._nodes -= 1
                top.key = _MERGING
                self._begins(top, self._spot_of(event, raw))
                return
            raw = self._resolved(event, top)
        spot = Spot(event, self._line, raw, event.value, plain=not event.style) if self._places else None
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(raw, 0, 1, len(event.value), spot)
        if top.key is _NO_KEY:
            self._name(top, raw, event, spot)
        else:
            self._put(raw if raw.__class__ is str else self._number(raw, event), event, spot)

    def _spot_of(self, event: Any, value: Any) -> Spot | None:
        return Spot(event, self._line, value) if self._places else None

    def _resolved(self, event: Any, top: _Open) -> Any:
        """What a scalar is read as, with a remark if kustomize reads it otherwise."""
        text, is_key = event.value, top.key is _NO_KEY
        try:
            raw = scalar(text, event.tag, plain=event.implicit[0])
        except GoError as error:
            raise self._error(event, str(error)) from None
        in_flow = top.start is not None and top.start.flow_style
        said = kustomized(text, raw, event.tag, event.style, is_key=is_key, in_flow=in_flow)
        if said:
            self._remarks.append(self._remark(event, said, [raw] if is_key else []))
        return raw

    def _number(self, raw: Any, event: Any) -> Any:
        try:
            return number(raw)
        except GoError as error:
            raise self._error(event, str(error)) from None

    def _remark(self, event: Any, message: str, below: list[Any]) -> Remark:
        path = [each.step for each in self._open[1:]]
        if below:
            path[-1:] = map(key_text, below)
        return Remark(tuple(path), Place.of(Spot(event, self._line, None)), message)

    def _count(self, event: Any, size: int) -> None:
        self._nodes += 1
        self._size += size
        if self._nodes > _VALUES or self._aliased:
            self._check_size(event)

    def _check_size(self, event: Any) -> None:
        if self._nodes > _VALUES:
            raise self._error(event, f"more than {_VALUES} keys and values in a document")
        if has_too_many_aliases(self._nodes, self._aliased):
            raise self._error(event, "document contains excessive aliasing: kubectl refuses it")
        if self._expanded > _EXPANDED:
            raise self._error(
                event, f"more than {_EXPANDED >> 20} MiB of text from aliases: the API server takes 3 MiB"
            )

    def _alias(self, event: Any) -> None:
        found = self._anchors.get(event.anchor)
        if found is None:
            raise self._error(event, f"unknown anchor '{event.anchor}' referenced")
        if found.height < 0:
            raise self._error(event, f"anchor '{event.anchor}' value contains itself")
        if found.height + len(self._open) > NESTING + 1:
            raise self._error(event, _TOO_DEEP)
        self._nodes += found.nodes
        self._aliased += found.nodes
        self._expanded += found.size
        self._count(event, found.size)
        self._check_size(event)
        self._put_any(self._named_value(found.value, event), event, found.spot, found.height)

    def _named_value(self, value: Any, event: Any) -> Any:
        """What stands in the place of an alias: a collection of its own, so that nothing is in two places."""
        if not isinstance(value, dict | list):
            return value if self._top.key is _NO_KEY else self._number(value, event)
        if self._top.key is _MERGING and value.__class__ is list:
            raise self._error(event, _NOT_MERGED)
        return copied(value)

    def _mapping(self, event: Any) -> None:
        self._begin({}, event)

    def _sequence(self, event: Any) -> None:
        self._begin([], event)
        if len(self._open) == 3 and self._open[1].key == "items":
            self._top.lines = self._items

    def _begin(self, value: Any, event: Any) -> None:
        if len(self._open) > NESTING:
            raise self._error(event, _TOO_DEEP)
        spot = self._spot_of(event, value.__class__())
        self._top = _Open(value, event, self._nodes, self._size, spot)
        self._open.append(self._top)
        self._count(event, 2)
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(value)

    def _end(self, event: Any) -> None:
        done = self._open.pop()
        self._top = self._open[-1]
        if done.spot is not None:
            done.spot.end_with(event)
        anchor = done.start.anchor
        if anchor is not None and self._anchors[anchor].value is done.value:  # otherwise another has its name by now
            nodes, size = self._nodes - done.nodes, self._size - done.size
            self._anchors[anchor] = _Anchored(done.value, done.height + 1, nodes, size, done.spot)
        self._put_any(done.value, done.start, done.spot, done.height + 1)

    def _put_any(self, value: Any, event: Any, spot: Spot | None, height: int) -> None:
        """Add a value of any kind, wherever it stands."""
        top = self._top
        top.height = max(top.height, height)
        if top.key is _NO_KEY:
            self._name(top, value, event, spot)
        elif top.key is _MERGING:
            self._merge(top, value, event, spot)
            top.key = _NO_KEY
        else:
            self._put(value, event, spot)

    def _put(self, value: Any, event: Any, spot: Spot | None) -> None:
        """Add an item, or the value of a key."""
        top, key = self._top, self._top.key
        if key is _ITEM:
            top.value.append(value)
            if top.lines is not None:
                top.lines.append(self._line + event.start_mark.line)
            if top.spot is not None:
                self._begins(top, spot)
                top.spot.value.append(spot)
            elif top is self._root:
                self._spot = spot
        elif key is _MERGING:
            raise self._error(event, _NOT_MERGED)
        else:
            top.value[key] = value
            if top.spot is not None:
                top.spot.value[key] = top.named, spot
            top.key = _NO_KEY

    def _name(self, top: _Open, raw: Any, event: Any, spot: Spot | None) -> None:
        key = raw if raw.__class__ is str else self._key(raw, event)
        if key in top.own and len(self._repeats) < _MAX_REPEATS:
            self._repeats.append(self._remark(event, _DUPLICATE.format(key), [key]))
        if top.own is not top.value:
            top.own.add(key)
        top.key = key
        if spot is not None:
            top.named = spot
            self._begins(top, spot)

    def _key(self, raw: Any, event: Any) -> str:
        if isinstance(raw, dict | list):
            said = f"invalid map key: a key must be text, not {_KINDS[type(raw)]}"
            raise YamlError(self._line + event.start_mark.line, said, may_be_a_template=True)
        try:
            return key_text(raw)
        except GoError as error:
            raise self._error(event, str(error)) from None

    def _begins(self, top: _Open, spot: Spot | None) -> None:
        if top.spot is not None and top.spot.first is None and not top.start.flow_style:
            top.spot.first = spot

    def _merge(self, top: _Open, value: Any, event: Any, spot: Spot | None) -> None:
        """Add the members of a mapping, or of several, whose first has the last word."""
        merged = value if value.__class__ is list else [value]
        if not all(each.__class__ is dict for each in merged):
            raise self._error(event, _NOT_MERGED)
        if top.own is top.value:
            top.own = set(top.value)
        if spot is not None and top.spot is not None:
            for each in reversed(spot.value if value.__class__ is list else [spot]):
                top.spot.value.update(each.value)
        before = {key: top.value[key] for each in merged for key in each if key in top.own}
        for each in reversed(merged):
            top.value.update(each)
        for key in [key for key, own in before.items() if top.value[key] != own]:
            self._remarks.append(self._remark(event, _OVERRIDDEN.format(key), [key]))


# Not in the composer: bound methods would refer to it in a circle, which only the garbage collector ends.
_HANDLERS: Final[dict[type, Callable[[_Composer, Any], None]]] = {
    yaml.ScalarEvent: _Composer._scalar,  # noqa: SLF001 - of this module
    yaml.AliasEvent: _Composer._alias,  # noqa: SLF001
    yaml.MappingStartEvent: _Composer._mapping,  # noqa: SLF001
    yaml.SequenceStartEvent: _Composer._sequence,  # noqa: SLF001
    yaml.MappingEndEvent: _Composer._end,  # noqa: SLF001
    yaml.SequenceEndEvent: _Composer._end,  # noqa: SLF001
}
