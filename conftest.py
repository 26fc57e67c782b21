"""For every test, and for the kernels that they start: nothing varies, and nothing costs money.

Kernels inherit this process's environment, so it is set here, before any of them starts. This is
what lets ``pytest --nbval`` compare the outputs of the notebooks with what stands in them.
"""

import os

from agentlab.course.executing import LIVE, steady_environment

for _name in LIVE:
    os.environ.pop(_name, None)
os.environ.update(steady_environment())
