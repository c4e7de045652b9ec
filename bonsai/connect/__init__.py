"""How other agents are told of a memory: which of their files say what, as pure edits of bytes."""
