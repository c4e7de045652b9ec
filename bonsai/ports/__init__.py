"""What the passes need from outside. The adapters fulfil these; the tests hold every adapter to the same suite."""
