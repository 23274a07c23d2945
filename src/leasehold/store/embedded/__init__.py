"""A Postgres of our own, shared by all processes that name the same folder.

The road: `Server.start` in server.py → `Seat` in seat.py says who may come and go → `Place` in
place.py says where the files are and who owns them → `Binaries` in binaries.py runs the programs.
"""

from leasehold.store.embedded.binaries import Binaries, binaries
from leasehold.store.embedded.place import default_home
from leasehold.store.embedded.server import Server

__all__ = ["Binaries", "Server", "binaries", "default_home"]
