"""Waits until both workers of the tests' cluster are there again."""

import time

WAIT_SECONDS = 30.0


def both_back(client):
    """Wait for two workers. If a nanny has failed to start its worker again, all workers are replaced."""
    try:
        client.wait_for_workers(2, timeout=WAIT_SECONDS)
    except TimeoutError:
        client.cluster.scale(0)
        end = time.monotonic() + WAIT_SECONDS
        while client.scheduler_info()["workers"] and time.monotonic() < end:
            time.sleep(0.1)
        client.cluster.scale(2)
        client.wait_for_workers(2, timeout=2 * WAIT_SECONDS)
