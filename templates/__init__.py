"""The templates of every text that bonsai writes into a workspace."""
