"""YAML composed as go-yaml v2 does: libyaml's events in, a value that JSON has out, in one loop without recursion.

A merge (``<<``) counts by its position: what stands later wins. Aliases are bounded while they are expanded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import yaml
from yaml._yaml import CParser

from webhook.golang.errors import GoError
from webhook.golang.yaml import MERGE, key_text, kustomized, number, scalar
from webhook.manifests.places import Place, Remark, Spot

__all__ = ["NESTING", "Composed", "YamlError", "compose"]

NESTING: Final = 1000
"""The maximum depth of a document, about that of JSON in an admission review."""
_VALUES: Final = 2_000_000
"""The maximum number of keys and values of a document: four times what fits into the API server's 3 MiB."""
_EXPANDED: Final = 16 << 20
"""The maximum number of characters that aliases add to a document: five times the API server's 3 MiB."""

# go-yaml refuses a document of more than 1,000 nodes in which aliases give more than this part of them: 99 % up to
# 400,000 nodes, 10 % from 4,000,000 on, and in between what lies on the line.
_ALIASES: Final = 100
_NODES: Final = 1_000
_SMALL: Final = 400_000
_LARGE: Final = 4_000_000

_NO_KEY: Final = object()
_MERGING: Final = object()
_KINDS: Final = {dict: "an object", list: "a list"}
_TOO_DEEP: Final = f"nested more than {NESTING} levels deep"
_NOT_MERGED: Final = "map merge requires map or sequence of maps as the value"
_DUPLICATE: Final = 'duplicate key "{}": kubectl takes the last one, kustomize refuses the file'
_OVERRIDDEN: Final = (
    'kubectl takes the value of "{0}" that is merged here, kustomize the one above it: move << above "{0}"'
)
_IGNORED: Final = 'kubectl reads nothing from here to the next line "---": begin the next document with it'


class YamlError(GoError):
    """A text that is not YAML as kubectl reads it; ``line`` counts from 0."""

    def __init__(self, line: int, message: str, *, may_be_a_template: bool = False) -> None:
        super().__init__(message)
        self.line = line
        self.may_be_a_template = may_be_a_template


class Composed(NamedTuple):
    """A document: ``line`` is where it begins, ``items`` the lines of the items of its list (all from 0)."""

    value: Any
    line: int
    items: list[int]
    remarks: list[Remark]
    spot: Spot | None


class _Anchored(NamedTuple):
    """What an anchor names; ``height`` is -1 for a collection that is still open."""

    value: Any
    height: int = -1
    nodes: int = 0
    size: int = 0
    spot: Spot | None = None


class _Open:
    """A collection whose end has not come."""

    __slots__ = ("height", "key", "named", "nodes", "own", "size", "spot", "start", "value")

    def __init__(self, value: Any, start: Any, nodes: int, size: int, spot: Spot | None) -> None:
        self.value = value
        self.start = start
        self.height = 0
        self.key: Any = _NO_KEY
        self.named: Any = None  # the spot of the key
        self.own: Any = value  # the keys that are not merged
        self.nodes, self.size = nodes, size
        self.spot = spot

    @property
    def expects_key(self) -> bool:
        return self.key is _NO_KEY and self.value.__class__ is dict

    @property
    def step(self) -> str | int:
        """The key or the index of what is being read."""
        if self.value.__class__ is list:
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
        words = ": ".join(part for part in (error.context, error.problem) if part)
        raise YamlError(line + (mark.line if mark else 0), words, may_be_a_template=True) from None
    except yaml.YAMLError as error:  # a character that YAML does not allow
        position = getattr(error, "position", 0)
        raise YamlError(
            line + text.count("\n", 0, position), " ".join(str(error).split()), may_be_a_template=True
        ) from None
    finally:
        composer.dispose()


class _Composer:
    def __init__(self, text: str, line: int, *, places: bool) -> None:
        self._parser = CParser(text)
        self._line = line
        self._places = places
        self._open: list[_Open] = []
        self._anchors: dict[str, _Anchored] = {}
        self._nodes = self._aliased = self._size = self._expanded = 0
        self._result: tuple[Any, Spot | None] | None = None
        self._items: list[int] = []
        self._remarks: list[Remark] = []
        self._handlers: dict[type, Callable[[Any], None]] = {
            yaml.ScalarEvent: self._scalar,
            yaml.AliasEvent: self._alias,
            yaml.MappingStartEvent: lambda event: self._begin({}, event),
            yaml.SequenceStartEvent: lambda event: self._begin([], event),
            yaml.MappingEndEvent: self._end,
            yaml.SequenceEndEvent: self._end,
        }

    def dispose(self) -> None:
        self._parser.dispose()

    def document(self) -> Composed | None:
        get, handlers = self._parser.get_event, self._handlers
        get()  # the start of the stream
        if not isinstance(get(), yaml.DocumentStartEvent):
            return None
        event: Any = get()
        line = self._line + event.start_mark.line
        handlers[type(event)](event)
        while self._result is None:
            event = get()
            handlers[type(event)](event)
        self._after(get())
        value, spot = self._result
        return Composed(value, line, self._items, self._remarks, spot)

    def _after(self, end: Any) -> None:
        """Refuse what kubectl, kustomize and Flux leave out without a word."""
        try:
            if isinstance(self._parser.get_event(), yaml.StreamEndEvent):
                return
        except yaml.YAMLError:
            pass
        raise self._error(end, _IGNORED)

    def _error(self, event: Any, message: str) -> YamlError:
        return YamlError(self._line + event.start_mark.line, message)

    def _scalar(self, event: Any) -> None:
        text, plain = event.value, event.implicit[0]
        is_key = bool(self._open) and self._open[-1].expects_key
        if is_key and text == "<<" and (plain or event.tag == MERGE):
            self._open[-1].key = _MERGING
            self._begins(self._open[-1], Spot.of(event, self._line, text) if self._places else None)
            return
        try:
            raw = scalar(text, event.tag, plain=plain)
            value = raw if is_key or raw.__class__ is str else number(raw)
        except GoError as error:
            raise self._error(event, str(error)) from None
        self._count(event, len(text))
        spot = Spot.of(event, self._line, raw) if self._places else None
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(raw, 0, 1, len(text), spot)
        self._compare(event, raw, is_key=is_key)
        self._put(value, event, spot)

    def _compare(self, event: Any, raw: Any, *, is_key: bool) -> None:
        """Remark on a scalar that kustomize reads otherwise. Most are texts that cannot be one."""
        text = event.value
        if raw.__class__ is str and text[4:5] != "-" and event.style != ">" and text != "<<" and event.tag is None:
            return
        in_flow = bool(self._open) and self._open[-1].start.flow_style
        said = kustomized(event.value, raw, event.tag, event.style, is_key=is_key, in_flow=in_flow)
        if said:
            self._remark(event, said, [raw] if is_key else [])

    def _remark(self, event: Any, message: str, below: list[Any]) -> None:
        path = [each.step for each in self._open]
        if below:
            path[-1:] = map(key_text, below)
        place = Place.of(Spot.of(event, self._line, None))
        self._remarks.append(Remark(tuple(path), place, message))

    def _count(self, event: Any, size: int) -> None:
        self._nodes += 1
        self._size += size
        if self._nodes > _VALUES:
            raise self._error(event, f"more than {_VALUES} keys and values in a document")
        if self._aliased > _ALIASES:
            self._check_aliases(event)

    def _check_aliases(self, event: Any) -> None:
        part = (min(max(self._nodes, _SMALL), _LARGE) - _SMALL) / (_LARGE - _SMALL)
        if self._nodes > _NODES and self._aliased / self._nodes > 0.99 - 0.89 * part:
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
        if found.height + len(self._open) > NESTING:
            raise self._error(event, _TOO_DEEP)
        self._nodes += found.nodes
        self._aliased += found.nodes
        self._expanded += found.size
        self._count(event, found.size)
        self._put(self._named_value(found.value, event), event, found.spot, found.height)

    def _named_value(self, value: Any, event: Any) -> Any:
        """What stands in the place of an alias: a collection of its own, so that nothing is in two places."""
        top = self._open[-1]
        if isinstance(value, dict | list):
            if top.key is _MERGING and value.__class__ is list:
                raise self._error(event, _NOT_MERGED)
            return _copied(value)
        try:
            return value if top.expects_key else number(value)
        except GoError as error:
            raise self._error(event, str(error)) from None

    def _begin(self, value: Any, event: Any) -> None:
        if len(self._open) == NESTING:
            raise self._error(event, _TOO_DEEP)
        spot = Spot.of(event, self._line, value.__class__()) if self._places else None
        self._open.append(_Open(value, event, self._nodes, self._size, spot))
        self._count(event, 2)
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(value)

    def _end(self, event: Any) -> None:
        done = self._open.pop()
        if done.spot is not None:
            done.spot.ends(event, self._line)
        anchor = done.start.anchor
        if anchor is not None and self._anchors[anchor].value is done.value:  # otherwise another has its name by now
            nodes, size = self._nodes - done.nodes, self._size - done.size
            self._anchors[anchor] = _Anchored(done.value, done.height + 1, nodes, size, done.spot)
        self._put(done.value, done.start, done.spot, done.height + 1)

    def _put(self, value: Any, event: Any, spot: Spot | None, height: int = 0) -> None:
        """Add a complete value to the collection that it is in."""
        if not self._open:
            self._result = value, spot
            return
        top = self._open[-1]
        top.height = max(top.height, height)
        if top.value.__class__ is list:
            top.value.append(value)
            if top.spot is not None:
                self._begins(top, spot)
                top.spot.value.append(spot)
            if len(self._open) == 2 and self._open[0].key == "items":
                self._items.append(self._line + event.start_mark.line)
        elif top.key is _NO_KEY:
            self._name(top, value, event, spot)
        elif top.key is _MERGING:
            self._merge(top, value, event, spot)
            top.key = _NO_KEY
        else:
            top.value[top.key] = value
            if top.spot is not None:
                top.spot.value[top.key] = top.named, spot
            top.key = _NO_KEY

    def _name(self, top: _Open, raw: Any, event: Any, spot: Spot | None) -> None:
        if isinstance(raw, dict | list):
            said = f"invalid map key: a key must be text, not {_KINDS[type(raw)]}"
            raise YamlError(self._line + event.start_mark.line, said, may_be_a_template=True)
        try:
            key = key_text(raw)
        except GoError as error:
            raise self._error(event, str(error)) from None
        if key in top.own:
            raise self._error(event, _DUPLICATE.format(key))
        if top.own is not top.value:
            top.own.add(key)
        top.key, top.named = key, spot
        self._begins(top, spot)

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
            self._remark(event, _OVERRIDDEN.format(key), [key])


def _copied(value: Any) -> Any:
    """A copy of a collection, without recursion."""
    result = value.copy()
    todo = [result]
    while todo:
        each = todo.pop()
        for key, item in each.items() if each.__class__ is dict else enumerate(each):
            if item.__class__ is dict or item.__class__ is list:
                each[key] = item.copy()
                todo.append(each[key])
    return result
