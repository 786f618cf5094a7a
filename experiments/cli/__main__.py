"""``python -m experiments.cli`` is ``stribeck``."""

from experiments.cli.app import main

main()
