"""Facts for the rules of LLMKube: values that take Python to compute from an object."""

from webhook.facts.llmkube.facts import FACTS, KNOWLEDGE, accelerator_resource
from webhook.facts.llmkube.layers import LayerSplit, parse_layer_split
from webhook.facts.llmkube.source import (
    FileSet,
    SourceKind,
    cache_key,
    classify_page,
    classify_source,
    cleaned,
    parse_hf,
    parse_pvc,
    parse_source,
    resolve_fileset,
)
