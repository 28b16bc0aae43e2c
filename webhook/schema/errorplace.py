"""From the field that an error names to its path in the schema: ``*`` is an item of a list or an entry of a map."""

from __future__ import annotations

from webhook.schema.fielderror import FieldError
from webhook.schema.node import SchemaNode

__all__ = ["Keys", "keys_of"]

Keys = tuple[str, ...]


def keys_of(root: SchemaNode, error: FieldError) -> Keys:
    """The path of an error, or that of a node around it where the text leaves more than one reading.

    The keys of a map are a user's, and may have any character: the path ends at the entry.
    """
    text, node, keys = _text(error), root, list[str]()
    while text and node is not None:
        if text.startswith("[") and node.items is not None:
            key, child, text = "*", node.items, text.partition("]")[2]
        else:
            text = text.removeprefix(".")
            name = max((each for each in node.properties if _is_first(each, text)), key=len, default=None)
            if name is None:
                return (*keys, "*") if node.additional is not None else tuple(keys)
            key, child, text = name, node.properties[name], text[len(name) :]
        keys.append(key)
        node = child
    return tuple(keys)


def _text(error: FieldError) -> str:
    text = error.place or error.field
    return "" if text == "<nil>" else text


def _is_first(name: str, text: str) -> bool:
    return text == name or text.startswith((f"{name}.", f"{name}["))
