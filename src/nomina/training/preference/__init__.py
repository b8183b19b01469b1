"""Learning from wrong names (ANGEL): pairs of a right and a wrong name, where they come from, losses over them."""
