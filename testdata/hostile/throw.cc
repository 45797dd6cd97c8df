// A library that throws while it is loaded, where nobody can catch it.
#include <stdexcept>

struct Thrower {
  Thrower() { throw std::runtime_error("hostile: thrown in a static initialiser"); }
};

static Thrower thrower;
