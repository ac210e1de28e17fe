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
#include "support/hash.h"

namespace assay::runtime::cuda {
namespace {

namespace fs = std::filesystem;

struct Text {        // of one entry
  std::string name;  // for messages
  std::string entry, hash, source;
};

// It is kept in a file, and the error has its place.
Diag complaint(const Text& text, int architecture, const KernelCache& cache, Diag d) {
  d.message = fmt::format("{} is not built for sm_{}: {}", text.name, architecture, d.message);
  std::error_code ignored;
  const fs::path folder = cache.root() / "failed";
  fs::create_directories(folder, ignored);
  const fs::path file = folder / (text.hash + ".cu");
  if (write_file(file, text.source)) {
    d.file = file.string();
    d.source_line = line_of(text.source, d.line);
  }
  return d;
}

// In the cache.
Result<fs::path> store(const Text& text, const Compiled& compiled, KernelCache& cache) {
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
  const auto r = compiled.resources.find(text.entry);
  cache.add(text.hash, *library, r == compiled.resources.end() ? -1 : r->second.stack_bytes);
  return cache.root() / "libraries" / *library;
}

std::string identity_of(const Compiler& compiler, int architecture) {
  return fmt::format("{}\nNVRTC {}\nsm_{}", Compiler::flags(), compiler.version(), architecture);
}

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

Diags Builder::compile(size_t kernel) {
  const std::vector<ir::Kernel> one{named(request.kernels[kernel], symbol_of(sources[kernel]))};
  const auto text = codegen::render(one, request.dialect, request.threads);
  ASSAY_CHECK(text.ok());  // it was rendered before
  const std::string name = fmt::format("kernel '{}'", request.kernels[kernel].name);
  const Text source{name, symbol_of(sources[kernel]), sources[kernel].hash, *text};
  const auto compiled = compiler.compile(*text, request.architecture);
  if (!compiled) return {complaint(source, request.architecture, cache, compiled.diags()[0])};
  const std::lock_guard lock(keeping);
  const auto cubin = store(source, *compiled, cache);
  if (!cubin) return cubin.diags();
  cubins[source.hash] = *cubin;
  return {};
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
  auto sources = sources_of(request.kernels, request.dialect,
                            identity_of(**compiler, request.architecture), request.threads);
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

namespace {

struct Combination {
  const char* what;   // for messages
  const char* entry;  // its name
  std::function<Result<std::string>(std::span<const ir::Kernel>)> print;
};

// Kernels of the same source are one in it.
Result<CombinedKernel> build_combined(const BuildRequest& request, const Combination& as,
                                      KernelCache& cache) {
  const auto compiler = Compiler::load();
  if (!compiler) return compiler.diags();
  const std::string identity = identity_of(**compiler, request.architecture);
  const auto sources = sources_of(request.kernels, request.dialect, identity, request.threads);
  if (!sources) return sources.diags();
  CombinedKernel out;
  std::vector<ir::Kernel> distinct;
  std::map<std::string, int> numbers;  // by hash
  for (size_t i = 0; i < sources->size(); ++i) {
    const Source& s = (*sources)[i];
    const auto [at, is_new] = numbers.emplace(s.hash, static_cast<int>(distinct.size()));
    if (is_new) distinct.push_back(named(request.kernels[i], symbol_of(s)));
    out.numbers.push_back(at->second);
  }
  const auto source = as.print(distinct);
  if (!source) return source.diags();
  const Text text{as.what, as.entry, hash_hex(identity + '\n' + *source), *source};
  out.kernel.entry = as.entry;
  if (const auto found = cache.find(text.hash)) {
    out.kernel.cubin = found->file;
    return out;
  }
  const auto start = std::chrono::steady_clock::now();
  const auto compiled = (*compiler)->compile(*source, request.architecture);
  if (!compiled) return complaint(text, request.architecture, cache, compiled.diags()[0]);
  auto cubin = store(text, *compiled, cache);
  if (!cubin) return cubin.diags();
  out.kernel.cubin = std::move(*cubin);
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

}  // namespace

Result<CombinedKernel> build_schedule(const BuildRequest& request, int resident,
                                      KernelCache& cache) {
  constexpr const char* kEntry = "run_queues";
  return build_combined(request,
                        {"the kernel that runs the schedule", kEntry,
                         [&](std::span<const ir::Kernel> kernels) {
                           return codegen::render_queues(kernels, request.dialect, kEntry,
                                                         request.threads, resident);
                         }},
                        cache);
}

Result<CombinedKernel> build_merged(const BuildRequest& request, KernelCache& cache) {
  constexpr const char* kEntry = "run_merged";
  return build_combined(request,
                        {"the merged kernel", kEntry,
                         [&](std::span<const ir::Kernel> kernels) {
                           return codegen::render_merged(kernels, request.dialect, kEntry,
                                                         request.threads);
                         }},
                        cache);
}

}  // namespace assay::runtime::cuda
