"""A decoder of .fpc files, written from docs/format.md alone, with none of the library's code.

column.read_column turns the bytes of a file into rows and framing, or raises the rule that the file
breaks, with its offset. Needs nothing but Python 3, and libzstd for files with cold blocks.
"""
