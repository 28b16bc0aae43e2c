"""Certificates of the webhook: one CA for all replicas, a short-lived leaf for each, and the CA in the configurations.

    authority   create a CA, and sign a leaf with it
    store       the location of the CA: a directory, or a Secret of the cluster
    files       several files, replaced as one
    issue       a new leaf in the directory that the server reads
    token       a token of another ServiceAccount, for a container with fewer rights
    publish     the CA bundle in the webhook configurations, written and read back
    api         the few REST calls to the API server; the only import of the ``kubernetes`` client

It imports nothing from ``webhook``: the server only reads files.
"""
