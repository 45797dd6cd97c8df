package faults

import "C" // the compiler of C takes faults.c
