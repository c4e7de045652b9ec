"""The door for MCP clients: tools, resources and prompts over a workspace (the door to mcp, an extra)."""
