"""The process with user code: claim, run, finish. Writes no SQL: it calls verbs."""
