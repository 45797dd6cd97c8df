// A library that writes to address zero while it is loaded.
__attribute__((constructor)) static void crash() { *static_cast<volatile int*>(nullptr) = 1; }
