"""What people do and ask, once for every face: functions that take `ask` and return values.

Deliberately absent: printing, SQL, and the App: whoever calls brings a way to ask the database.
"""
