// Modules and kernels of the fake driver: what an image declares, and what the kernels do that have a meaning here.
//
// add_one(const float* a, float* b, int n) and saxpy(int n, float a, const float* x, float* y) do what they are called.
// crash() and misaligned(float*) make the error of the device sticky.
// All others do nothing, also those with one of these names and other parameters, but must not receive addresses in freed memory.
#pragma once

#include "engine.h"

namespace {

struct Module { int device; std::map<std::string, std::unique_ptr<Function>> functions; std::map<std::string, std::vector<char>> globals; };
std::set<Module*> modules;

using Arguments = std::vector<std::vector<char>>;
// Model is what a kernel with parameters of these sizes does. It gets the device, the arguments, and the number of threads.
struct Model {
  std::vector<size_t> sizes;
  std::function<void(int dev, const Arguments&, unsigned long long threads)> run;
};

template <class T>
T argument(const Arguments& args, size_t i) {
  T v{};
  if (i < args.size()) std::memcpy(&v, args[i].data(), std::min(sizeof v, args[i].size()));
  return v;
}

// The models by name, which the files of areas add to.
std::map<std::string, Model> models = {
    {"add_one", {{8, 8, 4}, [](int dev, const Arguments& args, unsigned long long threads) {
      auto a = argument<uint64_t>(args, 0), b = argument<uint64_t>(args, 1);
      size_t n = std::min<unsigned long long>(argument<uint32_t>(args, 2), threads);
      if (!use("kernel add_one", a, 4 * n, dev, false) || !use("kernel add_one", b, 4 * n, dev, true)) return;
      for (size_t i = 0; i < n; ++i) reinterpret_cast<float*>(b)[i] = reinterpret_cast<float*>(a)[i] + 1;
    }}},
    {"saxpy", {{4, 4, 8, 8}, [](int dev, const Arguments& args, unsigned long long threads) {
      size_t n = std::min<unsigned long long>(argument<uint32_t>(args, 0), threads);
      auto a = argument<float>(args, 1);
      auto x = argument<uint64_t>(args, 2), y = argument<uint64_t>(args, 3);
      if (!use("kernel saxpy", x, 4 * n, dev, false) || !use("kernel saxpy", y, 4 * n, dev, false) || !use("kernel saxpy", y, 4 * n, dev, true)) return;
      for (size_t i = 0; i < n; ++i) reinterpret_cast<float*>(y)[i] += a * reinterpret_cast<float*>(x)[i];
    }}},
    {"crash", {{}, [](int dev, const Arguments&, unsigned long long) { devices[dev].sticky = kIllegalAddress; }}},
    {"misaligned", {{8}, [](int dev, const Arguments&, unsigned long long) { devices[dev].sticky = kMisalignedAddress; }}},
};

// The model of a kernel, or null.
const Model* model_of(const std::string& name, const Arguments& args) {
  auto m = models.find(name);
  if (m == models.end() || m->second.sizes.size() != args.size()) return nullptr;
  for (size_t i = 0; i < args.size(); ++i)
    if (m->second.sizes[i] != args[i].size()) return nullptr;
  return &m->second;
}

// What a kernel without a model does is not known. It may use what its parameters and the words of structs point to, and
// has no use for an address in freed memory.
void check_parameters(const std::string& name, const Arguments& args) {
  std::vector<uintptr_t> words;
  for (auto& a : args)
    for (size_t at = 0; at + 8 <= a.size(); at += 8) {
      words.push_back(0);
      std::memcpy(&words.back(), a.data() + at, 8);
    }
  for (auto p : words) {
    auto b = around(blocks, p, 1);
    if (b != blocks.end()) {
      judge(b->second, p, b->first + b->second.size - p, "kernel " + name, true, true);
      b->second.written.add(p, b->first + b->second.size);
    }
    auto g = around(graves, p, 1);
    if (g == graves.end() || b != blocks.end()) continue;
    violation("kernel %s receives %zx, which was freed by %s: %zu bytes at %zx", name.c_str(), p, g->second.ended, g->second.size, g->first);
  }
}

void run(const Function* f, const std::string& name, int dev, const Arguments& args, unsigned long long threads) {
  if (!functions.count(const_cast<Function*>(f))) {
    violation("kernel %s runs after its module was unloaded", name.c_str());
    return;
  }
  if (const Model* m = model_of(name, args)) m->run(dev, args, threads);
  else check_parameters(name, args);
}

// Reads the arguments that the array of pointers holds, and logs them as bytes.
Arguments arguments(const Function* f, void** params, std::string* text) {
  Arguments args;
  for (size_t i = 0; i < f->sizes.size(); ++i) {
    const char* p = static_cast<const char*>(params[i]);
    args.emplace_back(p, p + f->sizes[i]);
    *text += i ? "," : "";
    char hex[3];
    for (char c : args.back()) { std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned char>(c)); *text += hex; }
  }
  return args;
}

size_t size_of(const std::string& type) {  // such as .u32
  return type.size() < 3 ? 0 : std::atoi(type.c_str() + 2) / 8;
}

// Reads one declaration such as ".param .align 4 .b8 name[12]"; returns its size and, in *name, its name.
size_t declared(const std::string& text, std::string* name) {
  size_t size = 0, at = 0;
  while ((at = text.find('.', at)) != std::string::npos) {
    size_t end = text.find_first_of(" \t\n,)", at);
    std::string word = text.substr(at, end - at);
    if (word.size() > 2 && std::strchr("bufs", word[1]) && std::isdigit(static_cast<unsigned char>(word[2]))) {
      size = size_of(word);
      size_t from = text.find_first_not_of(" \t\n", end);
      if (from == std::string::npos) return 0;  // it is cut off
      size_t to = text.find_first_of(" \t\n,)[;", from);
      *name = text.substr(from, to - from);
      if (to != std::string::npos && text[to] == '[') size *= std::atoi(text.c_str() + to + 1);
      break;
    }
    at = end == std::string::npos ? text.size() : end;
  }
  return size;
}

// Adds a variable of a module, if it has a size and is not there.
void add_variable(Module* m, const std::string& name, std::vector<char> value) {
  const size_t n = value.size();
  if (n == 0 || m->globals.count(name)) return;
  const uintptr_t p = reinterpret_cast<uintptr_t>((m->globals[name] = std::move(value)).data());
  Block b{n, m->device, Kind::variable};
  b.written.add(p, p + n);
  blocks[p] = b;
}

// The error of PTX with the word syntax_error; the log of errors gets a line about it. Nothing else is checked.
int check_ptx(const std::string& ptx, char* failure, size_t room) {
  const size_t bad = ptx.find("syntax_error");
  if (bad == std::string::npos) return kOk;
  if (failure) {
    std::snprintf(failure, room, "ptxas application ptx input, line %d; fatal   : Parsing error near 'syntax_error': syntax error",
                  static_cast<int>(std::count(ptx.begin(), ptx.begin() + static_cast<std::ptrdiff_t>(bad), '\n')) + 1);
  }
  return kInvalidPTX;
}

// Reads the names and sizes of variables, but those of other modules. They are 0 at first.
void parse_variables(Module* m, const std::string& ptx) {
  std::string name;
  for (const std::string space : {".global ", ".const "}) {
    for (size_t at = 0; (at = ptx.find(space, at)) != std::string::npos; at += space.size()) {
      const size_t begin = ptx.find_last_of(";}", at) + 1;
      const std::string before = ptx.substr(begin, at - begin);
      if (before.find(".extern") != std::string::npos || before.find_first_of("({") != std::string::npos) continue;  // of another module, or a parameter
      const size_t size = declared(ptx.substr(at, ptx.find(';', at) - at), &name);
      if (size <= kTotal) add_variable(m, name, std::vector<char>(size));
    }
  }
}

void parse(Module* m, const std::string& ptx) {
  size_t at = 0;
  std::string name;
  parse_variables(m, ptx);
  while ((at = ptx.find(".entry ", at)) != std::string::npos) {
    at += 7;
    size_t open = ptx.find('(', at), close = ptx.find(')', open), next = ptx.find(".entry ", close);
    if (close == std::string::npos) return;  // it is cut off
    auto f = std::make_unique<Function>();
    f->name = ptx.substr(at, open - at);
    f->device = m->device;
    std::string params = ptx.substr(open + 1, close - open - 1), body = ptx.substr(close, next - close);
    for (size_t p = 0; (p = params.find(".param", p)) != std::string::npos; p += 6)
      f->sizes.push_back(declared(params.substr(p + 6), &name));
    for (size_t p = 0; (p = body.find(".shared ", p)) != std::string::npos; p += 8)
      f->shared += static_cast<int>(declared(body.substr(p), &name));
    size_t most = body.find(".maxntid ");
    if (most != std::string::npos) f->threads = std::atoi(body.c_str() + most + 9);
    f->dynamic = 49152 - f->shared;
    functions.insert(f.get());
    m->functions[f->name] = std::move(f);
  }
}

template <class T>
T at(const char* p, size_t offset) {
  T v;
  std::memcpy(&v, p + offset, sizeof v);
  return v;
}

// Whether code for an architecture such as 75 runs on the devices, which are 90 and 75.
bool runs_on(int arch, int device) { return arch / 10 == (device ? 7 : 9) && arch % 10 <= (device ? 5 : 0); }

// Whether a section of a cubin has variables.
bool has_variables(const std::string& section) { return section == ".nv.global" || section == ".nv.global.init" || section.compare(0, 13, ".nv.constant3") == 0; }

// Reads names and parameters of the kernels of a cubin: the section .nv.info.NAME has a record for each parameter.
// The table of symbols has the variables.
// Returns the error for the code of another architecture. The caller has checked that the offsets are inside.
int parse_cubin(Module* m, const char* elf) {
  // The compilers of CUDA 12 write the architecture of devices before sm_100 into the first byte, under version 7 of the ABI.
  // CUDA 13 has another layout of the flags, version 8, which older drivers do not know.
  const unsigned char layout = at<unsigned char>(elf, 8);
  if (layout >= 8 && version() < 13000) return kInvalidImage;
  int arch = static_cast<int>(at<uint32_t>(elf, 48) >> (layout == 7 ? 0 : 8) & 0xff);  // 0 in the headers that tests make up
  if (arch != 0 && !runs_on(arch, m->device)) return kNoBinary;
  const char* table = elf + at<uint64_t>(elf, 40);
  size_t n = at<uint16_t>(elf, 60);
  if (n == 0) return kOk;
  if (at<uint16_t>(elf, 62) >= n) return kInvalidImage;
  const uint32_t kSymbols = 2, kNoBits = 8;
  auto type_of = [&](size_t section) { return at<uint32_t>(table + 64 * section, 4); };
  auto body_of = [&](size_t section) { return elf + at<uint64_t>(table + 64 * section, 24); };
  auto size_of = [&](size_t section) { return type_of(section) == kNoBits ? 0 : at<uint64_t>(table + 64 * section, 32); };
  auto text = [&](size_t strings, uint32_t from) {  // empty for what has no name
    const size_t length = size_of(strings);
    return from >= length ? std::string() : std::string(body_of(strings) + from, strnlen(body_of(strings) + from, length - from));
  };
  auto name_of = [&](size_t section) { return text(at<uint16_t>(elf, 62), at<uint32_t>(table + 64 * section, 0)); };
  const std::string info = ".nv.info.";
  for (size_t i = 0; i < n; ++i) {
    const char* section = table + 64 * i;
    const uint32_t strings = at<uint32_t>(section, 40);
    for (size_t s = 0; type_of(i) == kSymbols && strings < n && s + 24 <= size_of(i); s += 24) {
      const char* symbol = body_of(i) + s;
      const uint16_t in = at<uint16_t>(symbol, 6);
      if ((symbol[4] & 15) != 1 || in >= n || !has_variables(name_of(in))) continue;
      const uint64_t from = at<uint64_t>(symbol, 8), size = at<uint64_t>(symbol, 16), room = at<uint64_t>(table + 64 * in, 32);
      if (size > kTotal || from > room || size > room - from) continue;
      std::vector<char> value(size);
      if (type_of(in) != kNoBits) value.assign(body_of(in) + from, body_of(in) + from + size);
      add_variable(m, text(strings, at<uint32_t>(symbol, 0)), std::move(value));
    }
    const std::string name = name_of(i);
    if (name.compare(0, info.size(), info) != 0) continue;
    auto f = std::make_unique<Function>();
    f->name = name.substr(info.size());
    f->device = m->device;
    f->dynamic = 49152;
    const char *p = elf + at<uint64_t>(section, 24), *end = p + at<uint64_t>(section, 32);
    std::map<int, size_t> sizes;
    while (end - p >= 4) {
      unsigned char format = at<unsigned char>(p, 0), what = at<unsigned char>(p, 1);
      uint16_t length = format == 4 ? at<uint16_t>(p, 2) : 0;
      if (what == 0x17 && length == 12) sizes[at<uint16_t>(p, 8)] = at<uint32_t>(p, 12) >> 18;
      p += 4 + length;
    }
    for (auto& s : sizes) f->sizes.push_back(s.second);
    functions.insert(f.get());
    m->functions[f->name] = std::move(f);
  }
  return kOk;
}

// Whether PTX is newer than the driver: its version 8.4 came with CUDA 12.4, 8.8 with 12.9, 9.0 with 13.0.
bool newer_ptx(const std::string& ptx) {
  int major = 0, minor = 0;
  size_t found = ptx.find(".version ");
  if (found == std::string::npos || std::sscanf(ptx.c_str() + found, ".version %d.%d", &major, &minor) != 2 || major < 8) return false;
  if (major == 8 && minor > 5) ++minor;
  return version() >= 12000 && 1000 * (major + 4) + 10 * minor > version();
}

// A launch, or the error of one that cannot be.
int launch(Function* f, Dim grid, Dim block, unsigned shared, Arguments args, Node* out) {
  if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z) return kInvalidValue;
  unsigned long long n = 1ull * block.x * block.y * block.z;
  if (n > static_cast<unsigned>(f->threads) || static_cast<int>(shared) > f->dynamic) return kInvalidValue;
  n *= 1ull * grid.x * grid.y * grid.z;
  const std::string name = f->name;
  const int dev = f->device;
  *out = work("kernel " + name, [=] { run(f, name, dev, args, n); });
  return kOk;
}

int start_kernel(Function* f, Dim grid, Dim block, unsigned shared, Stream* st, Arguments args) {
  Node node;
  int rc = launch(f, grid, block, shared, std::move(args), &node);
  return rc ? rc : queue(st, node);
}

}  // namespace
