"""Would the API server accept a CustomResourceDefinition? Imported only where a definition is not trusted."""
