"""The adapters of the providers: each opens a LangChain chat model for one call."""
