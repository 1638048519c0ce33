"""Campaigns: many programs on many arguments, judged on one machine or on many, every result kept."""
