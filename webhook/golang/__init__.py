"""How Go reads and prints text: the ground floor. It imports nothing else of Modelgate."""
