#include "runtime/cuda/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "codegen/render.h"
#include "runtime/source.h"

namespace assay::runtime::cuda {
namespace {

namespace fs = std::filesystem;

struct Builder {
  const BuildRequest& request;
  KernelCache& cache;
  const Compiler& compiler;
  std::vector<Source> sources;
  std::map<std::string, fs::path> cubins{};  // by hash
  std::mutex keeping{};                      // of cache and cubins

  std::vector<size_t> missing();
  Diags compile_all(const std::vector<size_t>& missing);
  Diags compile(size_t kernel);
  Diags store(size_t kernel, const Compiled& compiled);
  Diag complaint(size_t kernel, const std::string& source, Diag d) const;
};

// Positions of kernels that are not in the cache, no two of them equal.
std::vector<size_t> Builder::missing() {
  std::vector<size_t> out;
  for (size_t i = 0; i < sources.size(); ++i) {
    const std::string& hash = sources[i].hash;
    if (cubins.contains(hash)) continue;
    const auto found = cache.find(hash);
    cubins[hash] = found ? found->file : fs::path();
    if (!found) out.push_back(i);
  }
  return out;
}

Diag Builder::complaint(size_t kernel, const std::string& source, Diag d) const {
  d.message = fmt::format("kernel '{}' is not built for sm_{}: {}", request.kernels[kernel].name,
                          request.architecture, d.message);
  std::error_code ignored;
  const fs::path folder = cache.root() / "failed";
  fs::create_directories(folder, ignored);
  const fs::path file = folder / (sources[kernel].hash + ".cu");
  if (write_file(file, source)) {
    d.file = file.string();
    d.source_line = line_of(source, d.line);
  }
  return d;
}

Diags Builder::store(size_t kernel, const Compiled& compiled) {
  const std::lock_guard lock(keeping);
  const auto folder = cache.make_work_folder();
  if (!folder) return folder.diags();
  const fs::path file = *folder / "kernel.cubin";
  const auto library =
      write_file(file, compiled.cubin)
          ? cache.add_library(file)
          : Result<std::string>(error(fmt::format("'{}' can not be written", file.string())));
  std::error_code ignored;
  fs::remove_all(*folder, ignored);
  if (!library) return library.diags();
  const std::string& hash = sources[kernel].hash;
  const auto r = compiled.resources.find(symbol_of(sources[kernel]));
  cache.add(hash, *library, r == compiled.resources.end() ? -1 : r->second.stack_bytes);
  cubins[hash] = cache.root() / "libraries" / *library;
  return {};
}

Diags Builder::compile(size_t kernel) {
  const std::vector<ir::Kernel> one{named(request.kernels[kernel], symbol_of(sources[kernel]))};
  const auto text = codegen::render(one, request.dialect, request.threads);
  ASSAY_CHECK(text.ok());  // it was rendered before
  const auto compiled = compiler.compile(*text, request.architecture);
  if (!compiled) return {complaint(kernel, *text, compiled.diags()[0])};
  return store(kernel, *compiled);
}

// As many at a time as there are processors. Errors of all, in the kernels' order.
Diags Builder::compile_all(const std::vector<size_t>& missing) {
  std::vector<Diags> faults(missing.size());
  std::atomic<size_t> next{0};
  std::mutex telling;
  int64_t done = 0;
  const auto work = [&] {
    for (size_t i = next++; i < missing.size(); i = next++) {
      if (request.options.cancel != nullptr && request.options.cancel->load()) return;
      faults[i] = compile(missing[i]);
      const std::lock_guard lock(telling);
      if (request.options.progress)
        request.options.progress(++done, static_cast<int64_t>(missing.size()),
                                 request.kernels[missing[i]].name);
    }
  };
  const size_t most = std::max<size_t>(1, std::thread::hardware_concurrency());
  {
    std::vector<std::jthread> others;
    while (others.size() + 1 < std::min(most, missing.size())) others.emplace_back(work);
    work();
  }
  Diags all;
  for (const Diags& d : faults) all.insert(all.end(), d.begin(), d.end());
  return all;
}

}  // namespace

Result<Build> build(const BuildRequest& request, KernelCache& cache) {
  const auto compiler = Compiler::load();
  if (!compiler) return compiler.diags();
  const std::string identity = fmt::format("{}\nNVRTC {}\nsm_{}", Compiler::flags(),
                                           (*compiler)->version(), request.architecture);
  auto sources = sources_of(request.kernels, request.dialect, identity, request.threads);
  if (!sources) return sources.diags();
  Builder b{request, cache, **compiler, std::move(sources).value()};
  const auto start = std::chrono::steady_clock::now();
  const std::vector<size_t> missing = b.missing();
  const Diags faults = b.compile_all(missing);
  if (request.options.cancel != nullptr && request.options.cancel->load())
    return error("cancelled");
  if (has_error(faults)) return faults;
  Build out;
  if (!missing.empty())
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const Source& s : b.sources) out.kernels.push_back({b.cubins.at(s.hash), symbol_of(s)});
  return out;
}

}  // namespace assay::runtime::cuda
