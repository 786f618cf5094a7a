"""ROS 2 logs: bags and MCAP files, and the messages in them that are kept.

Imports from: `experiments.importers`, `ident`.
"""
