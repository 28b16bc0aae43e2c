"""CRDs that embed types of Kubernetes: written in ``policies/<api>/crds/src``, expanded here.

A source is a CustomResourceDefinition in YAML. A node of its schema may name types to start from:

    x-modelgate-embed: io.k8s.api.core.v1.PodSpec    # or a list of names
    x-modelgate-without: [ephemeralContainers]       # properties of the embedded types that this node lacks
    required: [containers]                           # keywords of the node itself win; properties are merged

A name with dots is a type of the API server's OpenAPI document, kept in ``kubernetes.json`` as a structural schema
without descriptions; a name without dots is defined in ``types.yaml`` beside the sources.
"""
