"""How long the machine keeps a process waiting that could run: what a test adds to a promised time before it says that
the promise is broken. (tests/support/stalls.h is the same for tests in C++.)"""

import threading
import time

PAUSE = 0.002
NOISE = 0.001  # a wake-up that is late by less is none of the machine's stalls


class Stalls:
    """Measures from its construction on, by a thread that sleeps again and again: how much later than asked for it wakes."""

    def __init__(self):
        self.begin()
        threading.Thread(target=self.measure, daemon=True).start()

    def measure(self):
        while True:
            began = time.monotonic()
            time.sleep(PAUSE)
            late = time.monotonic() - began - PAUSE
            self.most = max(self.most, late)
            if late > NOISE:
                self.sum += late

    def begin(self):
        """Forgets the stalls so far."""
        self.most = 0.0  # the longest
        self.sum = 0.0  # what a process has lost that always could run
