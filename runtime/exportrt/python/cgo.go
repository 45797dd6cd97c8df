package python

import "C" // the compiler of C takes python.c
