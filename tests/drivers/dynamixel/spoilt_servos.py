"""Functions that give an emulated servo a wrong setting or state."""


def holds(**values):
    return lambda servo: servo.values.update({int(key[1:]): value for key, value in values.items()})


def deaf_to(address):
    """The item accepts a write but keeps its old value."""

    def spoil(servo):
        set_ = servo._set
        servo._set = lambda found, value: None if found == address else set_(found, value)

    return spoil
