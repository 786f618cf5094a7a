"""Plans: what moves and how, as data, checked before anything moves."""
