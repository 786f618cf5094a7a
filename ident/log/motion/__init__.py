"""General motion of a recorded run, filtered, differentiated and reduced to points."""
