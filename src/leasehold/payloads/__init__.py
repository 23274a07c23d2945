"""Arguments, results and errors on their way to bytes and back: codec, fault, kinds, failure.

JSON by msgspec, which nobody else imports. Deliberately absent: pickle and any import by name,
SQL, and the values themselves in messages (a message names the place and the types).
"""
