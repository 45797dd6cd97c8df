// What the program "events" of cuda/nvtx does, by the header of NVIDIA.
#include <nvtx3/nvToolsExt.h>

static nvtxEventAttributes_t event(const char* message) {
  nvtxEventAttributes_t e = {};
  e.version = NVTX_VERSION;
  e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  if (message) {
    e.messageType = NVTX_MESSAGE_TYPE_ASCII;
    e.message.ascii = message;
  }
  return e;
}

extern "C" __attribute__((visibility("default"))) void nvtxprogram() {
  auto plain = event("plain"), full = event("full"), none = event(nullptr);
  full.category = 3;
  full.colorType = NVTX_COLOR_ARGB;
  full.color = 0xff76b900;
  full.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
  full.payload.dValue = 2.5;
  nvtxMarkEx(&plain);
  nvtxMarkEx(&none);
  nvtxNameCategoryA(3, "copies");
  nvtxRangeId_t range = nvtxRangeStartEx(&full);
  nvtxRangePushEx(&plain);
  nvtxRangePop();
  nvtxRangeEnd(range);
  auto domain = nvtxDomainCreateA("library");
  nvtxDomainNameCategoryA(domain, 3, "phases");
  full.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  full.payload.llValue = -1;
  nvtxDomainMarkEx(domain, &full);
  range = nvtxDomainRangeStartEx(domain, &plain);
  full.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  full.payload.ullValue = 7;
  nvtxDomainRangePushEx(domain, &full);
  nvtxDomainRangePop(domain);
  nvtxDomainRangeEnd(domain, range);
  nvtxDomainDestroy(domain);
}
