"""Export to a ROS 2 package with a chainable ros2_control controller around the C header.

Imports from: `ident`, `ident.calibration`, `ident.export`, `ident.export.c`, `ident.model.files`.
"""
