"""The worker a person starts: a supervisor without user code, its runners, one heartbeat."""
