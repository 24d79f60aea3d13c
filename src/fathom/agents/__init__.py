"""The roles of agents, one per file or folder.

Most have a local implementation and one with a language model behind the same protocol.
"""
