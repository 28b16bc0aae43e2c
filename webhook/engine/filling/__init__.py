"""What fills in defaults: exactly for any object, and by one function of its kind for a new one."""
