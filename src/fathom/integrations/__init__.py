"""A retriever for LangChain, a node for LangGraph.

They need the extra `langchain`.
"""
