"""What `check`, `normalise` and `explain` read: files, folders, kustomizations, earlier versions, and configuration."""
