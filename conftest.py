"""For every test, and for the kernels that they start: nothing varies, and nothing costs money.

Kernels inherit this process's environment, so it is set here, before any of them starts. This is
what lets ``pytest --nbval`` compare the outputs of the notebooks with what stands in them.
"""

import os
import signal
import threading

from agentlab.course.executing import LIVE, steady_environment

for _name in LIVE:
    os.environ.pop(_name, None)
os.environ.update(steady_environment())

# Where the tests run in the background, or on several cores, Ctrl-C is ignored, and so it would be
# by every program that they start. Some of them are stopped that way.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
