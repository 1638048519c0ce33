"""What the scalar unit does: views and names of tiles, arrays and structs, single elements, printing."""
