"""Questions over the statements of quarterly reports."""
