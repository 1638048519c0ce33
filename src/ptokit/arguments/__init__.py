"""Launch arguments as text: the grammar of ``--arg``, generated arrays, arrays in files."""
