// Fatbins of the fake driver: which of their images a device gets.
//
// A fatbin is a header and then entries, each with a header and one image. Numbers are little endian:
//
//   header  0 magic, 4 version, 6 size of the header, 8 size of all entries
//   entry   0 kind, 4 size of the header, 8 size of what follows, 16 compressed size, 28 architecture, 40 flags
//
// A device gets the newest cubin that runs on it. Where there is none, it gets the PTX for the newest architecture that is
// not newer than its own; the driver compiles it, if the PTX is not newer than the driver. Other kinds are passed over.
// A compressed image is not read: if it is chosen, the module has no kernels.
#pragma once

#include "kernels.h"

namespace {

struct FatEntry { int kind; const char* image; size_t size; int arch; bool compressed; };

// Lists the entries; false if one of them ends beyond the fatbin, which the driver would read.
bool fat_entries(const char* fatbin, std::vector<FatEntry>* entries) {
  const char* p = fatbin + at<uint16_t>(fatbin, 6);
  const char* end = p + at<uint64_t>(fatbin, 8);
  while (p < end) {
    if (end - p < 64) return false;
    const uint64_t header = at<uint32_t>(p, 4), size = at<uint64_t>(p, 8), left = end - p;
    if (header < 64 || header > left || size > left - header) return false;
    entries->push_back({at<uint16_t>(p, 0), p + header, size, static_cast<int>(at<uint32_t>(p, 28)), (at<uint64_t>(p, 40) & 0xa000) != 0});
    p += header + size;
  }
  return true;
}

int parse_ptx(Module* m, const std::string& ptx) {
  if (newer_ptx(ptx)) return kUnsupportedPTX;
  parse(m, ptx);
  return kOk;
}

// Reads the chosen image; if that is PTX, *ptx gets the text, and the log of errors what is wrong with it.
int parse_fatbin(Module* m, const char* fatbin, std::string* ptx, char* failure, size_t room) {
  std::vector<FatEntry> entries;
  if (!fat_entries(fatbin, &entries)) {
    violation("the driver gets a fatbin with an image that ends beyond it");
    return kInvalidImage;
  }
  const FatEntry* best = nullptr;
  for (auto& e : entries) {
    const bool cubin = e.kind == 2, runs = cubin ? runs_on(e.arch, m->device) : e.kind == 1 && e.arch <= (m->device ? 75 : 90);
    if (!runs) continue;
    if (!best || (best->kind == 2) < cubin || (best->kind == e.kind && best->arch < e.arch)) best = &e;
  }
  if (!best) return kNoBinary;
  if (best->compressed) return kOk;
  if (best->kind == 2) return parse_cubin(m, best->image);
  *ptx = std::string(best->image, strnlen(best->image, best->size));
  if (int rc = check_ptx(*ptx, failure, room)) return rc;
  return parse_ptx(m, *ptx);
}

}  // namespace
