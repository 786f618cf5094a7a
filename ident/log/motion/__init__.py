"""General motion of a log: filtered, differentiated and reduced to points."""
