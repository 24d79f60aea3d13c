"""The providers' chat models, each opened for one call through its LangChain package."""
