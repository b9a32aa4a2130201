"""Whether a candidate setting of a server may stay: pressure, acceptance, rollback, tuning."""
