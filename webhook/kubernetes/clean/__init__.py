"""The fast way of the verdict about pods: whether Kubernetes has surely nothing to say.

It knows the fields that most pods have. A yes is the promise that neither ``validate`` nor ``warned`` finds anything; a
no says nothing: the exact way decides. It also decides about a pod with a rare field.
"""

from webhook.kubernetes.clean.pod import is_clean

__all__ = ["is_clean"]
