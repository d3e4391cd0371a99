"""A node's first process, before it has spaces of its own."""

from __future__ import annotations

import os
import signal

from vclusterlib import node


def test_a_child_of_the_world_keeps_its_gate_and_nothing_else():
    read_end, gate = os.pipe()
    descriptor = os.open("/dev/null", os.O_RDONLY)
    child = os.fork()
    if not child:
        try:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            node._become_child(gate)
            assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
            try:
                os.fstat(descriptor)
            except OSError:
                os.write(gate, b"alone")
        finally:
            os._exit(0)
    os.close(gate)
    with os.fdopen(read_end, "rb") as pipe:
        assert pipe.read() == b"alone"
    os.close(descriptor)
    os.waitpid(child, 0)
