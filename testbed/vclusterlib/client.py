"""Sends a request to a running world, from outside, from its head node or from a compute node."""

from __future__ import annotations

import json
import os
import socket
from typing import Any

from vclusterlib.errors import UserError, VclusterError
from vclusterlib.state import State

#: The stream socket of the world, in ``run/``; head, nodes and host all reach it.
SOCKET = "control.sock"
_PATIENCE = 60.0


def ask(state: State, request: dict[str, Any], patience: float = _PATIENCE) -> dict[str, Any]:
    """The world's answer to `request`; VclusterError or UserError if the world refuses it."""
    try:
        folder = os.open(state.run, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        raise not_up(state) from None
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as world:
            world.settimeout(patience)
            # a socket's path may have 107 bytes only, a state directory's more
            world.connect(f"/proc/self/fd/{folder}/{SOCKET}")
            world.sendall(json.dumps(request).encode() + b"\n")
            with world.makefile("rb") as lines:
                line = lines.readline()
    except (FileNotFoundError, ConnectionRefusedError):
        raise not_up(state) from None
    except TimeoutError:
        raise VclusterError(f"cluster {state.name} did not answer in {patience:g} s") from None
    except OSError as error:
        raise VclusterError(f"cluster {state.name}: {error.strerror}") from error
    finally:
        os.close(folder)
    if not line:
        raise VclusterError(f"cluster {state.name} hung up: see {state.log / 'world.log'}")
    answer: dict[str, Any] = json.loads(line)
    if not answer.pop("ok"):
        kind = UserError if answer["status"] == UserError.status else VclusterError
        raise kind(answer["error"])
    return answer


def not_up(state: State) -> UserError:
    name = "" if state.name == "default" else f" --name {state.name}"
    return UserError(f"cluster {state.name} is not up: vcluster{name} up")
