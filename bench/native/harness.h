// What the C++ peers share: they speak the protocol of ../ours/harness.go.
#pragma once

#include <tvm/ffi/c_api.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

template <class T>
static inline void use(T const& v) {
  asm volatile("" : : "g"(&v) : "memory");
}

using Operation = std::function<void(long)>;
static std::map<std::string, Operation> items;
static std::vector<std::string> names;

static void item(const std::string& name, Operation f) {
  names.push_back(name);
  items[name] = std::move(f);
}

static double timed(const Operation& f, long n) {
  auto start = std::chrono::steady_clock::now();
  f(n);
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

static const double target = 2e6;

// The best of three counts: the first operation of all takes long.
static long calibrate(const Operation& f) {
  for (long n = 1;; n *= 2) {
    double took = std::min({timed(f, n), timed(f, n), timed(f, n)});
    if (took > target / 8 || n >= 1L << 30) return std::max(1L, static_cast<long>(n * target / took));
  }
}

static double fastest = 1e18;  // of the probe
static unsigned long probe_sink;

// As in ours/harness.go.
static bool disturbed() {
  auto start = std::chrono::steady_clock::now();
  unsigned long a = probe_sink | 1, b = 3, c = 5, d = 7;
  for (int i = 0; i < 2000; ++i) {
    a = a * 0x9E3779B97F4A7C15ul + 1, b = b * 0x9E3779B97F4A7C15ul + 3;
    c = c * 0x9E3779B97F4A7C15ul + 5, d = d * 0x9E3779B97F4A7C15ul + 7;
  }
  probe_sink = a ^ b ^ c ^ d;
  double took = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
  fastest = std::min(fastest, took);
  return took > 1.05 * fastest;
}

// The nanoseconds of an operation, and in how many of the pieces nothing disturbed the processor.
static std::pair<double, int> batch(const Operation& f, long n, int pieces) {
  std::vector<double> all, undisturbed;
  bool before = disturbed();
  for (int i = 0; i < pieces; ++i) {
    double took = timed(f, n) / n;
    bool after = disturbed();
    all.push_back(took);
    if (!before && !after) undisturbed.push_back(took);
    before = after;
  }
  int quiet = undisturbed.size();
  if (quiet > 0) all = undisturbed;
  std::sort(all.begin(), all.end());
  return {(all[(all.size() - 1) / 2] + all[all.size() / 2]) / 2, quiet};
}

// As in ours/harness.go.
static void between(const Operation& f, long n) {
  f(100);
  char self[64] = "";  // PID/task/TID
  if (readlink("/proc/thread-self", self, sizeof self - 1) < 0) std::abort();
  std::puts(std::strrchr(self, '/') + 1);
  std::fflush(stdout);
  std::string line;
  std::getline(std::cin, line);
  std::raise(SIGUSR2);
  f(n);
  std::raise(SIGUSR2);
  std::puts("counted");
  std::fflush(stdout);
}

static void serve() {
  for (int i = 0; i < 100; ++i) disturbed();
  for (size_t i = 0; i < names.size(); ++i) std::cout << (i == 0 ? "" : " ") << names[i];
  std::cout << std::endl;
  std::map<std::string, long> counts;
  for (std::string line; std::getline(std::cin, line);) {
    std::string name = line.substr(0, line.find(' '));
    bool whole = name != line;
    const Operation& f = items.at(name);
    if (size_t at = line.find(" count "); at != std::string::npos) {
      between(f, std::stol(line.substr(at + 7)));
      continue;
    }
    if (counts[name] == 0) {
      counts[name] = calibrate(f);
      // So that the start of threads does not count.
      if (name.find("thread") != std::string::npos) counts[name] = std::max(counts[name], 500000L);
    }
    long n = counts[name];
    if (n > 10) f(n / 10);
    int pieces = whole ? 1 : std::min(n, 40L);
    auto [ns, quiet] = batch(f, n / pieces, pieces);
    std::printf("%.3f 0 %d\n", ns, quiet);
    std::fflush(stdout);
  }
}

static TVMFFIAny value(int32_t type, int64_t v) {
  TVMFFIAny a;
  a.type_index = type;
  a.zero_padding = 0;
  a.v_int64 = v;
  return a;
}

// Prints what a failed call has raised, and ends the program: a new release of a library may want other arguments.
[[noreturn]] static void failed() {
  TVMFFIObjectHandle raised = nullptr;
  TVMFFIErrorMoveFromRaised(&raised);
  if (raised) {
    const TVMFFIErrorCell* e = TVMFFIErrorGetCellPtr(raised);
    std::fprintf(stderr, "%.*s: %.*s\n", static_cast<int>(e->kind.size), e->kind.data, static_cast<int>(e->message.size), e->message.data);
  }
  std::exit(1);
}

static TVMFFIAny call(TVMFFIObjectHandle f, TVMFFIAny* args, int n) {
  TVMFFIAny result = value(kTVMFFINone, 0);
  if (TVMFFIFunctionCall(f, args, n, &result)) failed();
  return result;
}
