// A library that never finishes loading.
#include <unistd.h>

__attribute__((constructor)) static void hang() {
  for (;;) pause();
}
