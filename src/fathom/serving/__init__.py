"""The outside: command line now, servers later."""
