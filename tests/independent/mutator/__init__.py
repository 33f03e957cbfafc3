"""Makes .fpc files that are valid or nearly so: content → parts → image, changed at each level.

content.py has rows and tokens; derive.py makes headers and sections of them; assemble.py makes a
file, with places and checksums right. A change at one level is followed up by all levels below it,
so that a mutant breaks the one rule that it is about, and often none.
"""
