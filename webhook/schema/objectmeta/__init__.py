"""``metav1.ObjectMeta``: decoding, validation, and the metadata of embedded resources."""
