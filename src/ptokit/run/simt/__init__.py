"""Launches of threads: functions executed for all threads of a launch at once, an array axis of lanes."""
