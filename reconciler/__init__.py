"""The reconciler: acts only on objects that have passed the gate."""
