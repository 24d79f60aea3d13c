"""The budget, the record and the replay of one question.

`context` has what a run hands from step to step, `ledger` the budget, `recorder` the trace.
"""
