"""DMA copies (vector-path 3)."""
