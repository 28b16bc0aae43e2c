"""What the reconciler does where no operator runs: one pure projection per API, off unless a setting says otherwise."""
