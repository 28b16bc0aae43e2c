"""Releases: ``python -m tools.release build`` makes the files, ``publish`` signs and uploads them.

    project     the version, the commit, and the places that must agree on them
    build       the files of a release, from an export of a commit
    oci         OCI image layouts as reproducible archives
    statements  checksums and provenance
    publish     the commands that need credentials

Two builds of one commit from one base image are equal byte for byte: docs/verify.md.
"""
