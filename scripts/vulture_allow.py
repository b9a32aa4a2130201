"""Names that vulture calls unused although they are not; a reason beside each."""
