// A library that writes to address zero while it is loaded.
static int* volatile nowhere = nullptr;  // volatile, so that the compiler does not see through it

__attribute__((constructor)) static void crash() { *nowhere = 1; }
