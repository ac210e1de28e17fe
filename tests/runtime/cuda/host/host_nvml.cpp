// NVML on the host: one board at one address, which has drawn 1.25 J.
#include <cstring>

#include "common.h"

API int nvmlInit_v2() { return 0; }
API int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
  static int board;
  *device = &board;
  return std::strcmp(bus, "0000:3b:00.0") == 0 ? 0 : 6;
}
API int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  *millijoules = 1250;
  return device == nullptr ? 2 : 0;
}
API const char* nvmlErrorString(int status) { return status == 6 ? "Not Found" : "Unknown Error"; }
