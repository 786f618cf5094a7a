"""Readers for ROS 1 and ROS 2 bags and MCAP files, and decoders of the messages that are imported.

Imports from: `experiments.importers`, `ident`.
"""
