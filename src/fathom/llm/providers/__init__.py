"""How each provider's chat model is opened for one call, through its LangChain package."""
