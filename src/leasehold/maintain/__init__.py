"""What the leader does for all: moves what time moves. Runs no user code."""
