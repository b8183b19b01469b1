"""Learning how the parts of a cascade are combined (``nomina.linkers.fitted_cascade``). Needs no torch."""
