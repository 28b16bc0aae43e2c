"""The API server's part of a request, for files: definitions, decoding, merging and the validation of metadata."""

from webhook.admission import kind_of
from webhook.children import completed, defaulted, is_builtin, is_judged
from webhook.library.apiserver.apply import applied, as_applied
from webhook.library.apiserver.definitions import Definitions, is_definition, read_definitions
from webhook.library.apiserver.receive import (
    builtin_causes,
    metadata_causes,
    placed,
    receive,
    replicas_causes,
    stored_object,
)
