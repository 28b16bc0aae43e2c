"""Memory of GPUs, weights and caches in bytes: lower bounds of what is needed, upper bounds of what there is.

The tables are data with sources (``tools/fit/*.yaml``), compiled to ``tables.json``.
"""

from webhook.facts.memory.bounds import GIB, Bound, gib
from webhook.facts.memory.gpus import accelerator, device_of_labels, device_of_partition
from webhook.facts.memory.names import Model, model_of_file, model_of_repository
from webhook.facts.memory.weights import (
    cache_bytes,
    element_bytes,
    keeps_layer_embeddings,
    of_file,
    of_repository,
    of_size,
    of_statement,
    size_of_text,
)
