"""Who may send reviews: any client, clients with a certificate, or clients with a token of the API server."""

from webhook.serve.callers.certificates import Certified, client_ca
from webhook.serve.callers.cluster import ClusterIssuer
from webhook.serve.callers.groups import ALL_GROUPS, Groups, covered
from webhook.serve.callers.kind import Anyone, Callers
from webhook.serve.callers.tokens import Issuer, Keys, Tokens, tokens_current

__all__ = [
    "ALL_GROUPS",
    "Anyone",
    "Callers",
    "Certified",
    "ClusterIssuer",
    "Groups",
    "Issuer",
    "Keys",
    "Tokens",
    "client_ca",
    "covered",
    "tokens_current",
]
