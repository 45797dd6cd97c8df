// The linker of the fake driver. It takes the kernels of its inputs over into a cubin that the fake loads, and knows
// which functions PTX lacks. The cubin belongs to the link: its memory is poisoned when the link ends. The log of
// errors is written when the link is completed, to the address that it was created with.
#pragma once

#include "module.h"

namespace {

struct Link {
  int device;
  char* failure = nullptr;
  size_t room = 0;
  Module parts;
  std::set<std::string> have, need;
  std::string twice;  // a kernel that two inputs have
  std::string cubin;
};
std::set<Link*> links;

// Makes a cubin with a section .nv.info.NAME for each kernel, which has a record for each parameter, and a symbol for each
// variable.
std::string cubin_of(const Module& m) {
  std::string names(1, '\0'), bodies, table(64, '\0');
  auto put = [](std::string* s, size_t at, auto v) { std::memcpy(&(*s)[at], &v, sizeof v); };
  size_t count = 1;
  auto section = [&](const std::string& name, const std::string& body, uint32_t type, size_t link = 0) {
    std::string header(64, '\0');
    put(&header, 0, static_cast<uint32_t>(names.size()));
    put(&header, 4, type);
    put(&header, 24, static_cast<uint64_t>(64 + bodies.size()));
    put(&header, 32, static_cast<uint64_t>(body.size()));
    put(&header, 40, static_cast<uint32_t>(link));
    names += name + '\0';
    bodies += body;
    table += header;
    ++count;
  };
  for (auto& f : m.functions) {
    std::string info;
    for (size_t i = 0; i < f.second->sizes.size(); ++i) {
      std::string record(16, '\0');
      record[0] = 4;
      record[1] = 0x17;
      put(&record, 2, static_cast<uint16_t>(12));
      put(&record, 8, static_cast<uint16_t>(i));
      put(&record, 12, static_cast<uint32_t>(f.second->sizes[i] << 18));
      info += record;
    }
    section(".nv.info." + f.first, info, 0x70000000);
  }
  std::string values, strings(1, '\0'), symbols(24, '\0');
  for (auto& g : m.globals) {
    std::string symbol(24, '\0');
    put(&symbol, 0, static_cast<uint32_t>(strings.size()));
    symbol[4] = 1;  // an object
    put(&symbol, 6, static_cast<uint16_t>(count));
    put(&symbol, 8, static_cast<uint64_t>(values.size()));
    put(&symbol, 16, static_cast<uint64_t>(g.second.size()));
    symbols += symbol;
    strings += g.first + '\0';
    values.append(g.second.begin(), g.second.end());
  }
  section(".nv.global.init", values, 1);
  section(".strtab", strings, 3);
  section(".symtab", symbols, 2, count - 1);
  names += std::string(".shstrtab") + '\0';
  std::string sections = names;
  names.resize(names.size() - 10);
  section(".shstrtab", sections, 3);
  std::string elf(64, '\0');
  elf.replace(0, 7, "\x7f" "ELF\x02\x01\x01", 7);
  elf[8] = 7;
  put(&elf, 16, static_cast<uint16_t>(2));
  put(&elf, 18, static_cast<uint16_t>(190));
  put(&elf, 40, static_cast<uint64_t>(64 + bodies.size()));
  put(&elf, 48, static_cast<uint32_t>(m.device ? 75 : 90));
  put(&elf, 58, static_cast<uint16_t>(64));
  put(&elf, 60, static_cast<uint16_t>(count));
  put(&elf, 62, static_cast<uint16_t>(count - 1));
  return elf + bodies + table;
}

// Notes the functions that PTX declares: .extern .func needs one, .func has it.
void functions_of(Link* l, const std::string& ptx) {
  for (size_t at = 0; (at = ptx.find(".func ", at)) != std::string::npos; at += 6) {
    size_t line = ptx.rfind('\n', at), name = at + 6;
    while (name < ptx.size() && (std::isspace(static_cast<unsigned char>(ptx[name])))) ++name;
    if (name < ptx.size() && ptx[name] == '(') name = ptx.find_first_not_of(" \t\n", ptx.find(')', name) + 1);
    std::string f = ptx.substr(name, ptx.find_first_of(" \t\n(;", name) - name);
    bool missing = ptx.compare(line + 1, 7, ".extern") == 0;
    (missing ? l->need : l->have).insert(f);
  }
}

// Whether PTX has a kernel of an earlier input, which Complete refuses.
bool again(Link* l, const std::string& ptx) {
  for (size_t at = 0; (at = ptx.find(".visible .entry ", at)) != std::string::npos;) {
    at += 16;
    std::string f = ptx.substr(at, ptx.find_first_of(" \t\n(", at) - at);
    if (!l->parts.functions.count(f)) continue;
    l->twice = f;
    return true;
  }
  return false;
}

int add(Link* l, int type, const char* data, size_t n) {
  const bool elf = n > 64 && std::memcmp(data, "\x7f" "ELF", 4) == 0;
  switch (type) {
    case 0: return elf ? parse_cubin(&l->parts, data) : kInvalidImage;
    case 1: {
      if (n == 0 || data[n - 1] != 0) {
        violation("cuLinkAddData gets PTX that does not end with a NUL");
        return kInvalidValue;
      }
      if (int rc = check_ptx(data, l->failure, l->room)) return rc;
      if (newer_ptx(data)) return kUnsupportedPTX;
      if (again(l, data)) return kOk;
      parse(&l->parts, data);
      functions_of(l, data);
      return kOk;
    }
    case 2: {
      if (n < 16 || std::memcmp(data, "\x50\xed\x55\xba", 4) != 0 || at<uint64_t>(data, 8) > n - 16) return kInvalidImage;
      std::string ptx;
      if (int rc = parse_fatbin(&l->parts, data, &ptx, l->failure, l->room)) return rc;
      functions_of(l, ptx);
      return kOk;
    }
    case 3: return elf ? kOk : kInvalidImage;
    case 4: return n >= 8 && std::memcmp(data, "!<arch>\n", 8) == 0 ? kOk : kInvalidImage;
    default: return kInvalidValue;
  }
}

}  // namespace

// How many links are not destroyed.
EXPORT size_t fakecuda_links() { LOCK; return links.size(); }

EXPORT int cuLinkCreate_v2(unsigned n, const int* options, void** values, void** out) {
  CALL("%u", n); CONTEXT();
  auto l = new Link;
  l->device = l->parts.device = dev;
  for (unsigned i = 0; i < n; ++i) {
    if (options[i] == 5) l->failure = static_cast<char*>(values[i]);
    if (options[i] == 6) l->room = num(values[i]);
  }
  links.insert(l);
  *out = l;
  return kOk;
}
#define LINK(h)                                            \
  auto l = static_cast<Link*>(h);                          \
  if (!links.count(l) || l->device != dev) return kInvalidHandle
EXPORT int cuLinkAddData_v2(void* h, int type, const void* data, size_t n, const char* name, unsigned count, const int*, void**) {
  CALL("%d %zu %s %u", type, n, name, count); CONTEXT(); LINK(h);
  return add(l, type, static_cast<const char*>(data), n);
}
EXPORT int cuLinkComplete(void* h, void** out, size_t* n) {
  CALL("%s", ""); CONTEXT(); LINK(h);
  for (auto& f : l->need)
    if (!l->have.count(f)) {
      if (l->failure) std::snprintf(l->failure, l->room, "error   : Undefined reference to '%s'", f.c_str());
      return kInvalidImage;
    }
  if (!l->twice.empty()) {
    if (l->failure) std::snprintf(l->failure, l->room, "error   : Multiple definition of '%s'", l->twice.c_str());
    return kInvalidImage;
  }
  l->cubin = cubin_of(l->parts);
  *out = &l->cubin[0];
  *n = l->cubin.size();
  return kOk;
}
EXPORT int cuLinkDestroy(void* h) {
  CALL("%s", ""); CONTEXT(); LINK(h);
  for (auto& f : l->parts.functions) functions.erase(f.second.get());
  for (auto& g : l->parts.globals) blocks.erase(reinterpret_cast<uintptr_t>(g.second.data()));
  std::fill(l->cubin.begin(), l->cubin.end(), '\xdd');
  links.erase(l);
  delete l;
  return kOk;
}
