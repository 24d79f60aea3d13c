"""Parts of Fathom for other frameworks.

Each needs a separate extra.
"""
