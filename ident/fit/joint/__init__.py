"""The fit of one joint: friction law, gravity check, difference between the directions, and advice."""
