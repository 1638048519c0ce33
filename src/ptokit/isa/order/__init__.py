"""What orders instructions: flags, barriers, events, signals between cores."""
