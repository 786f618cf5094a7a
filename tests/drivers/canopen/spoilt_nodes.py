"""Functions that give an emulated CANopen drive a wrong setting or state."""


def without(*key):
    return lambda node: node.objects.types.pop(key)


def deaf_to(key):
    """The object accepts a write but keeps its old value."""

    def spoil(node):
        set_ = node._set
        node._set = lambda found, data: None if found == key else set_(found, data)

    return spoil


def stuck_at(key, value):
    """The object keeps a value that another program left."""

    def spoil(node):
        node.values[key] = value
        deaf_to(key)(node)

    return spoil


def says(index, value):
    return lambda node: node.values.update({(index, 0): value})
