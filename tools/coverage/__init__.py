"""Coverage: fields of the API documents, rules of the specifications, samples, upstream's CRDs."""
