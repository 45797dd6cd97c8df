package dynlib

// rtldNoLoad is RTLD_NOLOAD of dlfcn.h.
const rtldNoLoad = 0x10
