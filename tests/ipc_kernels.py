"""A pytest plugin: kernels that tests start are reached by sockets in files, not by ports.

jupyter_client looks for five free ports, lets go of them, and starts the kernel, which binds
them a second later. Hundreds of simulators of other tests ask the system for free ports in the
meantime, and a kernel whose port is taken dies ("Kernel died before replying to kernel_info";
jupyter_client issue 487). Windows has no such sockets, and macOS allows too short a path.
"""

import sys

from jupyter_client.connect import ConnectionFileMixin

if sys.platform == "linux":
    ConnectionFileMixin.transport.default_value = "ipc"
