"""A language server for `.pto` text: findings as you type, hover, definitions, completion, layout."""
