"""What a machine gives: the same measurements everywhere, on a database of their own.

In rates, in counts and in CPU time.
"""
