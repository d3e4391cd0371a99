"""2 MB over TCP: ``bulk.py receive`` prints Mbit/s, ``bulk.py send HOST`` sends them."""

import socket
import sys
import time

PORT = 5201
BYTES = 2_000_000


def receive() -> None:
    with socket.create_server(("", PORT)) as server:
        server.settimeout(20)
        connection, _ = server.accept()
    start, received = time.monotonic(), 0
    while data := connection.recv(65536):
        received += len(data)
    print(received * 8 / (time.monotonic() - start) / 1e6)


def send(host: str) -> None:
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        try:
            connection = socket.create_connection((host, PORT))
        except ConnectionRefusedError:
            time.sleep(0.05)
            continue
        connection.sendall(bytes(BYTES))
        connection.close()
        return
    sys.exit(f"{host} does not listen")


if __name__ == "__main__":
    receive() if sys.argv[1] == "receive" else send(sys.argv[2])
