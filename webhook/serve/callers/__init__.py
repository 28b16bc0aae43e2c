"""Who may send reviews: any client, clients with a certificate, or clients with a token of the API server."""

from webhook.serve.callers.caller import ALL_GROUPS, Anyone, Callers, Certified, Groups, client_ca, covered
from webhook.serve.callers.tokens import ClusterIssuer, Issuer, Keys, Tokens, tokens_current
