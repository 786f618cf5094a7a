"""The simulated arm: MuJoCo physics, its drives, and the friction that is its truth."""
