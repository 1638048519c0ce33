"""Work on many processes of one machine or of a cluster, whatever the work is: limits, deaths, second attempts."""
