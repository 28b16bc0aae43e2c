"""From the folders of APIs to kinds with rules: files, packs, the releases of operators, and compiling."""
