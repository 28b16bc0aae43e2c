"""The gate: an admission webhook and policy server for the custom resources of LLM serving."""
