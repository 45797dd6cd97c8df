// Fatbins of the fake driver: which of their images a device gets.
//
// A fatbin is a header and then entries, each with a header and one image. Numbers are little endian:
//
//   header  0 magic, 4 version, 6 size of the header, 8 size of all entries
//   entry   0 kind, 4 size of the header, 8 size of what follows, 16 compressed size, 28 architecture
//
// A device gets the newest cubin that runs on it. Where there is none, it gets the PTX for the newest architecture that is
// not newer than its own; the driver compiles it, if the PTX is not newer than the driver. Other kinds are passed over.
#pragma once

#include "kernels.h"

namespace {

int parse_ptx(Module* m, const std::string& ptx) {
  if (newer_ptx(ptx)) return kUnsupportedPTX;
  parse(m, ptx);
  return kOk;
}

// Reads the chosen image; if that is PTX, *ptx gets the text, and the log of errors what is wrong with it.
int parse_fatbin(Module* m, const char* fatbin, std::string* ptx, char* failure, size_t room) {
  struct { bool cubin; const char* image; size_t size; int arch; } best{};
  const char* p = fatbin + at<uint16_t>(fatbin, 6);
  const char* end = p + at<uint64_t>(fatbin, 8);
  while (p < end) {
    const uint64_t header = at<uint32_t>(p, 4), size = at<uint64_t>(p, 8), left = end - p;
    if (left < 64 || header < 64 || header > left || size > left - header) {
      violation("the driver gets a fatbin with an image that ends beyond it");
      return kInvalidImage;
    }
    const int kind = at<uint16_t>(p, 0), arch = static_cast<int>(at<uint32_t>(p, 28));
    const bool cubin = kind == 2, runs = cubin ? runs_on(arch, m->device) : kind == 1 && arch <= (m->device ? 75 : 90);
    if (runs && (!best.image || best.cubin < cubin || (best.cubin == cubin && best.arch < arch))) best = {cubin, p + header, size, arch};
    p += header + size;
  }
  if (!best.image) return kNoBinary;
  if (best.cubin) return parse_cubin(m, best.image);
  *ptx = std::string(best.image, strnlen(best.image, best.size));
  if (int rc = check_ptx(*ptx, failure, room)) return rc;
  return parse_ptx(m, *ptx);
}

}  // namespace
