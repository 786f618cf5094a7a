"""``python -m stribeck`` is ``stribeck``."""

from stribeck.experiments.cli.entry import main

if __name__ == "__main__":
    main()
