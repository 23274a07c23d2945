"""Options that several commands share, each with one name and one meaning."""

from typing import Annotated

from cyclopts import Parameter

Database = Annotated[
    str | None,
    Parameter(
        help="address or folder of the database; DATABASE_URL, or .leasehold here, if absent"
    ),
]
Json = Annotated[
    bool, Parameter(name="--json", negative="", help="one JSON document, for programs")
]
Reason = Annotated[str | None, Parameter(help="why, for the audit and for whoever asks later")]
Jobs = Annotated[
    list[str],
    Parameter(help="ids, or the caller's own names, or keys", negative="", consume_multiple=True),
]
