"""A smaller encoder of questions, whose vectors are those of the shipped encoder of documents."""
