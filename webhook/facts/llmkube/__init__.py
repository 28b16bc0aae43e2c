"""Facts for the rules of LLMKube: values that take Python to compute from an object."""

from webhook.facts.llmkube.facts import FACTS
from webhook.facts.llmkube.fileset import FileSet, resolve_fileset
from webhook.facts.llmkube.gpu import LayerSplit, accelerator_resource, parse_layer_split
from webhook.facts.llmkube.knowledge import KNOWLEDGE
from webhook.facts.llmkube.page import Page, classify_page
from webhook.facts.llmkube.source import (
    Source,
    SourceKind,
    cache_key,
    classify_source,
    parse_hf,
    parse_pvc,
    parse_source,
)

__all__ = [
    "FACTS",
    "KNOWLEDGE",
    "FileSet",
    "LayerSplit",
    "Page",
    "Source",
    "SourceKind",
    "accelerator_resource",
    "cache_key",
    "classify_page",
    "classify_source",
    "parse_hf",
    "parse_layer_split",
    "parse_pvc",
    "parse_source",
    "resolve_fileset",
]
