"""The reconciler: acts on objects that the gate has let through, and on no others."""
