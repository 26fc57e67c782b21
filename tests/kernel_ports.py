"""A pytest plugin: kernels that tests start listen where nobody else asks for a port.

jupyter_client takes five free ports from the system, lets go of them, and starts the kernel, which
binds them a second later. The simulators of other tests ask the system for free ports in the
meantime, and a kernel whose port is gone dies ("Kernel died before replying to kernel_info";
jupyter_client issue 487). So here the ports are below those that a system gives away by itself
(from 32,768 on Linux, from 49,152 elsewhere), and each process begins at another place.
"""

import contextlib
import itertools
import os
import socket

from jupyter_client.connect import LocalPortCache

_numbers = itertools.count(os.getpid() * 50)


def find_available_port(cache: LocalPortCache, ip: str) -> int:
    """As jupyter_client's own: a port that is free now, and not one that it returned before."""
    for number in itertools.islice(_numbers, 10_000):
        port = 20_000 + number % 10_000
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind((ip, port))
            return port
    raise OSError(f"no free port from 20,000 to 29,999 at {ip}")


LocalPortCache.find_available_port = find_available_port
