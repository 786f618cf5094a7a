"""The parts that all drives on a bus share: transports, the cycle, and the ladder
of steps that ends motion.

Imports from: `drivers`, `ident`, `ident.arm`, `ident.model`.
"""
