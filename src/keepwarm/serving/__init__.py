"""The model of one server: requests wait, are admitted, computed in steps, preempted and finished."""
