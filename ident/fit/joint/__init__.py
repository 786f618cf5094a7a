"""The fit of one joint: from its points or its motion to law, gravity check, directions and advice."""
