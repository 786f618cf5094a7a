"""Closed chains: loops closed by cut joints."""
