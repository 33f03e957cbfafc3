"""The evaluation: preparing columns, running measurements, and the report made from them.
Python's standard library alone.
"""
