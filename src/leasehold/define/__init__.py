"""What was asked, as frozen values: task, options, retry, outcome, and the moves of a job.

Values are checked where they enter and trusted afterwards. Deliberately absent: I/O, clocks and
luck (both come in as arguments), bytes (payloads), SQL (store).
"""
