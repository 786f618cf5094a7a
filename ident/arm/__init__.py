"""The arm file, the built-in arms, and the mechanism of any of them."""
