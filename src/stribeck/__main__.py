"""Entry point: ``python -m stribeck`` runs the command ``stribeck``."""

from stribeck.experiments.cli.entry import main

if __name__ == "__main__":
    main()
