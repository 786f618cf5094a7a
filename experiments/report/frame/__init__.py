"""The frame of every page: head, navigation, style in light and dark, and interactive
figures by a vendored library.

Imports from: `ident`.
"""
