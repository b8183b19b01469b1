"""Learning from wrong names (ANGEL): pairs of a right and a wrong name, losses over them, where wrong names are from."""
