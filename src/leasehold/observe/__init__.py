"""Who listens, never who decides: the catalogue of events, and what a runner shows of itself.

Nothing here raises into its caller.
"""
