"""Certificates of the gate: one CA for all replicas, a short-lived leaf for each, the CA in the webhook configurations.

    authority   makes a CA, and signs a leaf with it
    store       where the CA lives: a directory, or a Secret of the cluster
    files       several files replaced as one
    issue       a fresh leaf in the directory that the server reads
    token       a token of another ServiceAccount, for a container that may do less
    publish     the CA bundle in the webhook configurations, written and read back
    api         the few REST calls to the API server; the only import of the ``kubernetes`` client

Imports nothing of ``webhook``: the server reads files, and does not know who wrote them.
"""
