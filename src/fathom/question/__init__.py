"""A question, and everything that is derived from its words.

`question.Question` is the entry; the other files hold one kind of rule each.
"""
