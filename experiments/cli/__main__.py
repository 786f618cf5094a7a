"""``python -m experiments.cli`` is ``stribeck``."""

from experiments.cli import main

main()
