"""`check --fix`: write the edits that help into the files."""

from __future__ import annotations

from pathlib import Path

from webhook.cli.manifests import Outcomes
from webhook.library.edits import Repair


def fixed(outcomes: Outcomes) -> tuple[Outcomes, list[str]]:
    """The outcomes after the files are edited, and a line about each edit."""
    reviews, said = list(outcomes.reviews), []
    for name in dict.fromkeys(each.document.source for each in reviews):
        path = Path(name)
        if not path.is_file():  # standard input, or what kustomize makes
            continue
        numbers = [number for number, each in enumerate(reviews) if each.document.source == name]
        file = Repair([reviews[number] for number in numbers], outcomes.review)
        file.repair()
        if file.done:
            content = file.text.encode()
            mark = b"\xef\xbb\xbf" if path.read_bytes().startswith(b"\xef\xbb\xbf") else b""
            path.write_bytes(mark + content)
            said += [f"{name}:{line}" for line in file.done]
            for number, review in zip(numbers, file.reviews, strict=True):
                reviews[number] = review
    return outcomes._replace(reviews=reviews), said
