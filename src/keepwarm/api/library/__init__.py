"""What lies in the served folder, found by its content and never by its name alone."""
