"""How well the predictor orders calls it has not seen, step by step of the ladder."""
