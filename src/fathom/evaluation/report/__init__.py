"""Reports of evaluations in three forms: text for a terminal, Markdown, and a page of HTML."""
