"""docs/crds.md: differences between these CRDs and upstream's, by statement and by their verdicts on samples."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from tools.statements import Keys, statements
from webhook.ground.fieldpath import field_path
from webhook.manifests import documents
from webhook.schema import CRD, CoerceError, load_crd

POLICIES: Final = Path(__file__).parents[2] / "policies"

HEAD: Final = """\
# Our definitions and upstream's

The definitions in `policies/*/crds` are written from the API documents. Constraints that the documents do not state
come from upstream. `make docs` generates this page from both sets of definitions and from the sample manifests; a test
fails when it is stale. Descriptions and the columns that kubectl prints are omitted. A verdict is the response of the
API server: the errors, and the unknown fields that strict validation refuses.

Why they differ:

- **LLMKube.** The API document describes 0.9.19. Upstream's definition is newer: it accepts `s3://` sources, with
  `sourceSecretRef` for their credentials, and has `prefetch` and `prefetchTolerations`.
- **AIM.** Upstream combines two enumerations (`allOf`) where the document has one. For `metric` they are equal. For
  `precision` upstream's first enumeration omits four values of the document: `auto`, `fp4`, `fp32`, `int4`.
- **OME.** Where the document embeds types of Kubernetes (containers, volumes, probes), Modelgate uses a newer release
  of Kubernetes, with its fields and defaults. Upstream's `x-kubernetes-map-type` of references says how Go embeds a
  structure; the API server does not publish it, and Modelgate omits it. Upstream deletes every `required` at a certain
  depth of InferenceService, to make a runner's name optional; Modelgate keeps the others. Upstream also deletes
  `ephemeralContainers` of its components to save space; the API document has them.
- **llm-d.** The document describes a state between two of upstream's definitions, so no definition matches it.

Long paths are shortened to their end, with the number of places, because types of Kubernetes are embedded many times.
"""

_SHOWN: Final = 100
"""Characters to show of a value."""

Statements = dict[str, dict[str, Any]]
"""Path → keyword → value."""


def made_page(upstream: Path, samples: Path) -> str:
    """The page, from upstream's definitions and the sample manifests beside the checkout."""
    theirs = {(api, kind): document for api, kind, document in _definitions(upstream, "*/*.yaml")}
    parts = [HEAD]
    for api, kind, document in _definitions(POLICIES, "*/crds/*.*"):
        parts.append(f"\n## {kind}\n")
        if (api, kind) not in theirs:
            parts.append("\nNot compared: no definition of upstream with texts is at hand.\n")
            continue
        parts += _section(_lines(document, theirs[api, kind]), "Same as upstream.", "")
        crds = (load_crd(each, trusted=True) for each in (document, theirs[api, kind]))
        parts += _section(_verdicts(samples / api, *crds), "", "Verdicts that differ:\n\n")
    return "".join(parts)


def _section(lines: Iterator[str], empty: str, title: str) -> Iterator[str]:
    found = [f"- {line}\n" for line in lines]
    if found:
        yield f"\n{title}"
        yield from found
    elif empty:
        yield f"\n{empty}\n"


def _definitions(folder: Path, pattern: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """API, kind and document of each definition."""
    for path in sorted(each for each in folder.glob(pattern) if each.is_file()):
        text = path.read_text()
        document = json.loads(text) if path.suffix == ".json" else yaml.load(text, Loader=yaml.CSafeLoader)
        yield path.relative_to(folder).parts[0], document["spec"]["names"]["kind"], document


def _lines(ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[str]:
    """The differences, each once with its number of places."""
    for key in ("scope", "names"):
        if ours["spec"][key] != theirs["spec"][key]:
            yield f"`{key}`: {_shown(ours['spec'][key])}; upstream {_shown(theirs['spec'][key])}"
    a, b = _statements(_schema(ours)), _statements(_schema(theirs))
    for title, paths in (("only here", _tops(a, b)), ("only upstream", _tops(b, a))):
        for name, count in sorted(Counter(map(_short, paths)).items()):
            yield f"`{name}`: {title}{_places(count)}"
    changed = Counter(
        f"`{_short(path)}`: `{keyword}` {_shown(a[path].get(keyword))}; upstream {_shown(b[path].get(keyword))}"
        for path in a.keys() & b.keys()
        for keyword in a[path].keys() | b[path].keys()
        if a[path].get(keyword) != b[path].get(keyword)
    )
    for line, count in sorted(changed.items()):
        yield line + _places(count)


def _schema(crd: dict[str, Any]) -> dict[str, Any]:
    (version,) = crd["spec"]["versions"]
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return schema


def _statements(schema: Mapping[str, Any]) -> Statements:
    """The statements of a schema by path, without descriptions; lists whose order has no meaning are sorted."""
    return {
        _path(keys): {key: _plain(key, value) for key, value in own.items() if key != "description"}
        for keys, own in statements(schema)
    }


def _path(keys: Keys) -> str:
    return field_path(keys).replace(".*", "[*]")


def _plain(keyword: str, value: Any) -> Any:
    if keyword in ("required", "enum"):
        return sorted(value, key=str)
    if keyword == "x-kubernetes-validations":
        return sorted(rule["rule"] for rule in value)
    return value


def _tops(a: Statements, b: Statements) -> list[str]:
    """Paths of one schema that the other lacks, without those below them."""
    missing = a.keys() - b.keys()
    return [path for path in missing if re.sub(r"(\.[^.\[]+|\[\*\])$", "", path) not in missing]


def _short(path: str) -> str:
    """The end of a long path: the types of Kubernetes are embedded in many places."""
    parts = path.split(".")
    return path if len(parts) <= 3 else "…." + ".".join(parts[-2:])


def _places(count: int) -> str:
    return "" if count == 1 else f" ({count} places)"


def _shown(value: Any) -> str:
    if value is None:
        return "not stated"
    text = str(value)
    return f"`{text if len(text) <= _SHOWN else text[:_SHOWN] + '…'}`"


def _verdicts(folder: Path, ours: CRD, theirs: CRD) -> Iterator[str]:
    """The samples of the kind on which the definitions disagree."""
    for path in sorted(folder.glob(f"*/{ours.kind}.yaml")):
        for document in documents.read(path):
            own, upstream = _verdict(ours, document.value), _verdict(theirs, document.value)
            if own != upstream:
                yield (
                    f"`{path.relative_to(folder)}`, line {document.line}: {_said(own - upstream) or 'accepted'}; "
                    f"upstream: {_said(upstream - own) or ('accepted' if not upstream else 'not that')}"
                )


def _verdict(crd: CRD, value: dict[str, Any]) -> frozenset[str]:
    """The API server's errors for a new object, with strict validation of fields."""
    version = crd.versions.get(value["apiVersion"].partition("/")[2])
    if version is None:
        return frozenset({"no such version"})
    try:
        decoded, unknown, _ = version.schema.decode_file(value)
    except CoerceError as error:
        return frozenset({str(error)})
    errors = version.schema.check(decoded).errors
    return frozenset({*map(str, errors), *(f'unknown field "{path}"' for path in unknown)})


def _said(verdict: frozenset[str]) -> str:
    return "; ".join(sorted(" ".join(item.split()) for item in verdict))
