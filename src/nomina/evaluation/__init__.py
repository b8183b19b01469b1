"""How good predictions are: paired with gold, judged under a named protocol, beside baselines, with intervals.

``report.evaluate`` is the whole of it; it needs saved predictions and no model.
"""
