"""Emulated CANopen drives as they should not be: what spoils one of them."""


def without(*key):
    return lambda node: node.objects.types.pop(key)


def deaf_to(key):
    """Takes a write and keeps its old value."""
    def spoil(node):
        set_ = node._set
        node._set = lambda found, data: None if found == key else set_(found, data)
    return spoil


def stuck_at(key, value):
    """Keeps a value that another program left."""
    def spoil(node):
        node.values[key] = value
        deaf_to(key)(node)
    return spoil


def says(index, value):
    return lambda node: node.values.update({(index, 0): value})
