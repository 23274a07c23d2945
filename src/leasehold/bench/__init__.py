"""What a machine gives: the same measurements everywhere, in rates, in counts and in CPU time, on a database of their own."""
