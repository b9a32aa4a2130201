"""How a verdict is shown: in a terminal, as a page, as files. It is shown as it stands, masked when made."""
