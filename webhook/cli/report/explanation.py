"""What `explain` says as a page: a choice and the fit as pictures, the fields, and what an operator makes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from webhook.children import Child
from webhook.cli.children import commented
from webhook.cli.output import counted
from webhook.cli.report.markup import bar, document, plain, source_line
from webhook.facts import Table
from webhook.facts.nodes import text as text_at
from webhook.library.explained import Explanation

_SHOWN: Final = 12
"""Candidates of a choice that are in sight; the others are folded."""
_MOST: Final = 100
"""Objects of a page: each takes some 16 KB."""


class ExplainedObject(NamedTuple):
    """An object of a file, what is explained of it, and what the operator makes of it."""

    place: str
    explanation: Explanation
    describe: Callable[[], Sequence[Child]]


def render(objects: Sequence[ExplainedObject]) -> str:
    """The page. Objects for which something was chosen or that have a bar come first."""
    ordered = sorted(objects, key=lambda item: not any(map(_has_picture, item.explanation.tables)))
    title = ordered[0].explanation.title if len(ordered) == 1 else f"{len(ordered):,} objects"
    shown = ordered[:_MOST]
    links = "".join(f'<li><a href="#o{n}">{plain(item.explanation.title)}</a></li>' for n, item in enumerate(shown))
    contents = f'<nav aria-label="Objects"><ul>{links}</ul></nav>' if len(ordered) > 1 else ""
    body = "\n".join(_section(number, item) for number, item in enumerate(shown))
    if len(ordered) > _MOST:
        body += f"\n<p>{counted(len(ordered) - _MOST, 'object')} more: name fewer files.</p>"
    return document(f"Modelgate explains {title}", contents, body)


def _has_picture(table: Table) -> bool:
    return bool(table.of) or any(share is not None for share in table.shares)


def _section(number: int, of: ExplainedObject) -> str:
    return "\n".join((f'<section id="o{number}">', *_parts(of), "</section>"))


def _parts(of: ExplainedObject) -> Iterator[str]:
    judged = of.explanation.judged_as
    yield f'<h2>{plain(of.explanation.title)}</h2><p class="soft">{plain(of.place)}</p>'
    if judged is not None:
        yield f'<p class="soft">judged as of {plain(judged)}</p>'
    for table in of.explanation.tables:
        yield from _choice(table) if table.of else _table(table)
    if of.explanation.fields:
        rows = tuple(
            (item.field, json.dumps(item.value, ensure_ascii=False), item.origin) for item in of.explanation.fields
        )
        yield from _table(Table("Where each field comes from", ("field", "value", "from"), rows))
    if children := of.describe():
        yield f"<h3>What the operator makes: {counted(len(children), 'object')}</h3>"
        yield from map(_child, children)


def _table(table: Table) -> Iterator[str]:
    """A table, with a bar above the second cell of a row that has a share. On a narrow page, each row is a block."""
    names = "".join(f'<th scope="col">{plain(name)}</th>' for name in table.header)
    yield f'{_title(table)}<table class="rows"><thead><tr>{names}</tr></thead><tbody>'
    for row, share in zip(table.rows, _shares(table), strict=True):
        first, second, *rest = map(plain, row)
        above = "" if share is None else bar(share)
        others = "".join(f"<td>{cell}</td>" for cell in rest)
        yield f'<tr><th scope="row">{first}</th><td>{above}{second}</td>{others}</tr>'
    yield "</tbody></table>"


def _title(table: Table) -> str:
    return f"<h3>{plain(table.title[:1].upper() + table.title[1:])}</h3>"


def _shares(table: Table) -> Sequence[float | None]:
    return table.shares or (None,) * len(table.rows)


def _choice(table: Table) -> Iterator[str]:
    """A tree: what is looked for, and a branch for each candidate with its score, or why it is out."""
    yield _title(table)
    candidates = [*map(_candidate, table.rows, _shares(table))]
    if not candidates:
        return
    yield f'<div class="choice"><p class="hub">{plain(table.of)}</p><ol>{"".join(candidates[:_SHOWN])}</ol></div>'
    if more := candidates[_SHOWN:]:
        summary = f"<summary>{len(more):,} more</summary>"
        yield f'<details>{summary}<div class="choice"><ol>{"".join(more)}</ol></div></details>'


def _candidate(row: Iterable[str], share: float | None) -> str:
    rank, name, kind, score, reason = map(plain, row)
    style = "out" if share is None else "chosen" if rank == "1" else "possible"
    node = f'<div class="node"><b>{name}</b><span class="soft">{kind}</span></div>'
    scored = "" if share is None else f'<div class="score">{bar(share)}rank {rank}, score {score}</div>'
    return f'<li class="{style}">{node}<div class="why">{scored}{f"<p>{reason}</p>" if reason else ""}</div></li>'


def _child(child: Child) -> str:
    """An object as YAML; a comment at a line names the fields that decide it."""
    lines = commented(child).removeprefix("---\n").split("\n")
    shown = "\n".join(map(_yaml_line, lines))
    named = (text_at(child.object, "metadata", "namespace"), text_at(child.object, "metadata", "name"))
    title = f"{child.object['kind']} {'/'.join(filter(None, named))}"
    frame = f'<pre tabindex="0" role="group" aria-label="{plain(title)}">{shown}</pre>'
    return f"<details><summary>{plain(title)}</summary>{frame}</details>"


def _yaml_line(line: str) -> str:
    text, mark, comment = line.rpartition("  # ")
    return f'{source_line(text)}<span class="soft">{source_line(mark + comment)}</span>' if mark else source_line(line)
