// Graphs of the host's driver: work that a capturing stream gets is recorded, and executed each
// time the graph is launched.
#pragma once

#include <functional>
#include <vector>

namespace host_cuda {

using Graph = std::vector<std::function<int()>>;
inline Graph* capturing = nullptr;  // by the only stream

// Executes it, or records it while capturing.
inline int now_or_later(std::function<int()> what) {
  if (capturing == nullptr) return what();
  capturing->push_back(std::move(what));
  return 0;
}

}  // namespace host_cuda

extern "C" {

inline __attribute__((used, visibility("default"))) int cuStreamBeginCapture_v2(void* stream,
                                                                                int mode) {
  if (stream == nullptr || mode != 1 || host_cuda::capturing != nullptr) return 1;
  host_cuda::capturing = new host_cuda::Graph();
  return 0;
}
inline __attribute__((used, visibility("default"))) int cuStreamEndCapture(
    void*, host_cuda::Graph** graph) {
  if (host_cuda::capturing == nullptr) return 1;
  *graph = host_cuda::capturing;
  host_cuda::capturing = nullptr;
  return 0;
}
inline __attribute__((used, visibility("default"))) int cuGraphDestroy(host_cuda::Graph* graph) {
  delete graph;
  return 0;
}
inline __attribute__((used, visibility("default"))) int cuGraphInstantiateWithFlags(
    host_cuda::Graph** run, const host_cuda::Graph* graph, unsigned long long flags) {
  if (flags != 0) return 1;
  *run = new host_cuda::Graph(*graph);
  return 0;
}
inline __attribute__((used, visibility("default"))) int cuGraphExecDestroy(host_cuda::Graph* run) {
  delete run;
  return 0;
}
inline __attribute__((used, visibility("default"))) int cuGraphLaunch(const host_cuda::Graph* run,
                                                                      void*) {
  if (host_cuda::capturing != nullptr) return 1;
  for (const auto& node : *run)
    if (const int status = node()) return status;
  return 0;
}

}  // extern "C"
