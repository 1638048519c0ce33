"""From tile to tile: moves, and windows taken out of and put into tiles."""
