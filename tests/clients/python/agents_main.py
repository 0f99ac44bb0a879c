"""Runs the agents whose packages are in an environment of their own, with the gateway at CLIENTS_TRANSLATION_URL."""

import sys

import recall_probe  # noqa: F401
import simulated_vendors  # noqa: F401
import runner

if __name__ == "__main__":
    sys.exit(0 if runner.run() else 1)
