"""The titles of rules: general words, so that a list of alerts says what each is about."""

from __future__ import annotations

from webhook import catalog
from webhook.cli.rule import name_of, title_of
from webhook.cli.rule.shown import _title
from webhook.policy import Validation


def test_every_rule_has_a_title_of_one_short_line_without_values() -> None:
    loaded = catalog.load()
    kinds = [loaded.uncompiled(gvk) for gvk in loaded.kinds]
    rules = {
        rule.code: (title_of(rule.code, known), _title(rule))
        for known in kinds
        for each in known.sources
        for rule in each.document.spec.rules
        if isinstance(rule, Validation)
    }
    assert len(rules) > 450
    for code, (title, _) in rules.items():
        assert 10 < len(title) <= 200, (code, title)
        assert "\n" not in title
        assert "shown(" not in title
        assert name_of(title).isalnum(), (code, title)
        assert len(name_of(title)) <= 200, "code scanning takes 255 characters"
    assert sum(bool(own) for _, own in rules.values()) > 0.95 * len(rules), "few need the sentence of their docs"
    assert rules["LK327"][0].startswith("spec.source: local paths are read in the container of the controller")
    assert name_of(rules["OM404"][0]) == "SpecModelModelIsDisabled"
    assert rules["LS209"][0] == "spec.resources: … is not a quantity, and the operator gives up without a word"
