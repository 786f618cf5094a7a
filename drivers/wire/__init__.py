"""What all drives on a bus share: transports, the cycle, the ladder that ends motion.

Imports from: `drivers`, `ident`, `ident.arm`, `ident.model`.
"""
