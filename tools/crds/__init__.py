"""Definitions that embed types of Kubernetes: written short in ``policies/<api>/crds/src``, made whole here.

A source is a CustomResourceDefinition in YAML. A node of its schema may name types to start from:

    x-modelgate-embed: io.k8s.api.core.v1.PodSpec    # or a list of names
    x-modelgate-without: [ephemeralContainers]       # properties that the embedded types have and this node has not
    required: [containers]                           # keywords of the node itself win; properties are joined

A name with dots is a type of the API server's OpenAPI document, kept in ``kubernetes.json`` as a structural schema
without descriptions; a name without dots is defined in ``types.yaml`` beside the sources.
"""
