// A library that ends the process while it is loaded.
#include <cstdio>
#include <cstdlib>

__attribute__((constructor)) static void die() {
  std::fputs("\x1b[2J\x1b]0;title\x07hostile: abort in a static initialiser\n", stderr);
  std::abort();
}
