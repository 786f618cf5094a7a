"""The rigid-body model: mechanism, recursion over its links, dynamics, joint
loads and elastic joints.

Imports from: `ident`.
"""
