// A library that ends the process in good order while it is loaded.
#include <cstdlib>

__attribute__((constructor)) static void leave() { std::exit(3); }
