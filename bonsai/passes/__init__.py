"""The verbs: each plans in pure code over the ports and returns a report."""
