"""A wire to Postgres that loses the answer to a chosen statement, and then breaks or is mute."""

import socket
import threading
from contextlib import suppress
from urllib.parse import parse_qs, urlsplit, urlunsplit

WANTS_ENCRYPTION = {b"\x04\xd2\x16\x2f", b"\x04\xd2\x16\x30"}
READY = b"Z\x00\x00\x00\x05"  # how each answer of the server ends


class Wire:
    """`dsn` leads through it. `lose(text)`: statements with it are done and not answered.

    Then the connection breaks, or, with `mute`, stays open and says nothing more.
    """

    def __init__(self, dsn: str) -> None:
        address = urlsplit(dsn)
        said = parse_qs(address.query)
        self._server = f"{said['host'][0]}/.s.PGSQL.{said['port'][0]}"
        self._door = socket.create_server(("127.0.0.1", 0))
        port = self._door.getsockname()[1]
        login = f"{address.username}:{address.password}@127.0.0.1:{port}"
        self.dsn = urlunsplit(address._replace(netloc=login, query=""))
        self._text, self._times, self.lost = b"", 0, 0
        self._mute = False
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def lose(self, text: str, times: int = 1, *, mute: bool = False) -> None:
        self._text, self._times, self._mute = text.encode(), times, mute

    def close(self) -> None:
        for end in (self._door, *self._open):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._door.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        self._open += [client, server]
        with suppress(OSError):
            server.connect(self._server)
            first = client.recv(65_536)
            while first[4:8] in WANTS_ENCRYPTION:
                client.sendall(b"N")
                first = client.recv(65_536)
            server.sendall(first)
            line = Line()
            asking = threading.Thread(target=self._ask, args=(line, client, server), daemon=True)
            asking.start()
            self._answer(line, server, client)
        for end in (client, server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _ask(self, line: "Line", client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while said := client.recv(65_536):
                if self._times and self._text in said:
                    self._times -= 1
                    line.losing = True
                server.sendall(said)
            server.shutdown(socket.SHUT_WR)

    def _answer(self, line: "Line", server: socket.socket, client: socket.socket) -> None:
        while said := server.recv(65_536):
            if not line.losing:
                client.sendall(said)
            elif READY in said:
                self.lost += 1
                if not self._mute:
                    return


class Line:
    losing = False
