"""What the terminal shows: tables, sentences, progress, live pictures."""
