"""A smaller encoder of questions, with the vectors of the shipped encoder of documents."""
