"""Durable background jobs on the Postgres you already run."""
