"""The engine: one request in, one decision out. Pure, total, deterministic.

``mutate`` fills in defaults and stamps the result; ``validate`` names everything that is wrong. Neither reads a clock,
a file or the network: everything they need comes in as arguments. Policy sets and their context (``policyset``,
``context``) are not imported here: they load the language of native policies, which takes 80 ms.
"""

from webhook.engine.children import CHILD_CODES, KUBERNETES_CODES, described
from webhook.engine.decisions import mutate, validate
from webhook.engine.descriptions import description_faults
from webhook.engine.options import DEFAULT_OPTIONS, NAMESPACE, Native, Options
from webhook.engine.placement import FIT_CODES, fit_tables
from webhook.engine.pods import POD_CODES
from webhook.engine.rules import UNSEEN
from webhook.engine.ruling import Ruling, vocabulary
from webhook.engine.strictness import EXEMPT
