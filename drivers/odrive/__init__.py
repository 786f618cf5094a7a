"""ODrive axes over CAN Simple."""
