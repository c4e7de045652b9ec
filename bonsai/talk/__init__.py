"""The conversation at work: the service that joins its stores, and facts that are kept in the tree."""
