"""Arms: whatever has joints that can be stepped, simulated, on a bus, or recorded."""
