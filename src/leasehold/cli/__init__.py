"""The command line: a module per command. Decides nothing itself; asks and shows."""


def main() -> None:
    """The entry point. Imports late, so that a runner's process loads none of it."""
    from leasehold.cli.main import run  # noqa: PLC0415

    run()
