"""The support desk of Pennant Ledger, an online bookkeeping service."""
