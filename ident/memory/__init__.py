"""Friction with memory: what happens at and after a reversal, before the joint slides steadily (presliding).

Imports from: `laws`, `log`, `fit`.
"""
