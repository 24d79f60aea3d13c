"""The agents: one role per file or folder."""
