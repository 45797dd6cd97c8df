// A library that has nothing to do with TVM-FFI.
extern "C" int plain() { return 1; }
