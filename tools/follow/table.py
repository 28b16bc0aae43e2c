"""The text of the table of known releases, which :class:`webhook.policy.table.Table` reads."""

from __future__ import annotations

import json
from collections.abc import Mapping


def table_text(releases: Mapping[str, Mapping[str, str]]) -> str:
    """The table of releases, from the oldest to the newest: name → the digest of each of its definitions.

    Each row has a line, so that a new release is a small change of the file.
    """
    rows: dict[str, list[list[str]]] = {}
    before: Mapping[str, str] = {}
    for release, digests in releases.items():
        for name, digest in digests.items():
            found = rows.setdefault(name, [])
            if before.get(name) == digest:
                found[-1][-1] = release
            else:
                found.append([digest, release, release])
        before = digests
    lines = (f"{json.dumps(name)}: [\n" + ",\n".join(map(json.dumps, rows[name])) + "\n]" for name in sorted(rows))
    return f'{{\n"releases": {json.dumps(list(releases))},\n"digests": {{\n' + ",\n".join(lines) + "}\n}\n"
