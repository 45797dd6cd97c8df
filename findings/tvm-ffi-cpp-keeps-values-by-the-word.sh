#!/usr/bin/env bash
# apache-tvm-ffi 0.1.15.post2, its C++ headers: whether an argument arrives whole depends on the word with which C++ names its type.
#
# Guess: a function of TVM-FFI that is called from C++ gets each argument as it is. A std::string has a length, and uint64_t and
# unsigned long long are 64 bits each, so they arrive alike. Seen: a std::string that is an argument, an AnyView, ends at its
# first zero byte; the same string in an Any is whole. 2^64-1 is refused if its type is uint64_t, here unsigned long, because it does
# not fit int64, and arrives as -1 if it is unsigned long long, without an error. Both are so in an Any, too.
set -euo pipefail
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
python3 -m venv "$T/venv"
"$T/venv/bin/pip" install -q apache-tvm-ffi==0.1.15.post2
cat >"$T/main.cc" <<'CC'
#include <tvm/ffi/any.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/string.h>

#include <iostream>
#include <string>

namespace ffi = tvm::ffi;

int main() {
  const ffi::Function length = ffi::Function::FromTyped([](const ffi::String& s) { return static_cast<int64_t>(s.size()); });
  const ffi::Function number = ffi::Function::FromTyped([](int64_t x) { return x; });
  const std::string text("a\0bc", 4);
  std::cout << "an argument of 4 bytes has " << length(text).cast<int64_t>() << "\n";
  std::cout << "an Any of 4 bytes has " << length(ffi::Any(text)).cast<int64_t>() << "\n";
  const uint64_t most = ~uint64_t{0};
  const unsigned long long same = ~0ull;
  const auto shown = [](auto f) { try { return std::to_string(f().template cast<int64_t>()); } catch (const ffi::Error& e) { return "refused, " + std::string(e.what()).substr(0, 34); } };
  std::cout << "uint64_t: " << shown([&] { return number(most); }) << "\n";
  std::cout << "unsigned long long: " << shown([&] { return number(same); }) << "\n";
  std::cout << "in an Any: " << shown([&] { return ffi::Any(most); }) << "; " << shown([&] { return ffi::Any(same); }) << "\n";
}
CC
home=$("$T/venv/bin/python" -c 'import os, tvm_ffi; print(os.path.dirname(tvm_ffi.__file__))')
g++ -std=c++17 -I"$home/include" "$T/main.cc" -o "$T/main" -L"$home/lib" -ltvm_ffi -Wl,-rpath,"$home/lib"
"$T/main" | diff - <(printf '%s\n' "an argument of 4 bytes has 1" "an Any of 4 bytes has 4" "uint64_t: refused, Integer value 18446744073709551615" "unsigned long long: -1" "in an Any: refused, Integer value 18446744073709551615; -1")
echo "as described"
