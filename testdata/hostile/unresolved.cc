// A library that wants a symbol that no library has.
extern "C" int hostile_symbol_that_nobody_defines(int);

extern "C" __attribute__((visibility("default"))) int __tvm_ffi_unresolved(void*, const void*, int, void*) {
  return hostile_symbol_that_nobody_defines(1);
}

// Called while the library loads, so that a lazily bound symbol is missed as well.
static int early = hostile_symbol_that_nobody_defines(0);
extern "C" __attribute__((visibility("default"))) int hostile_early() { return early; }
