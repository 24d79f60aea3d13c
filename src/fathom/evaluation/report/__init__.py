"""One report, and its forms: text for a terminal, Markdown, and a page of HTML."""
