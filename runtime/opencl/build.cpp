#include "runtime/opencl/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "codegen/render.h"
#include "runtime/source.h"
#include "support/hash.h"

namespace assay::runtime::opencl {
namespace {

namespace fs = std::filesystem;

// Denormals are flushed on every device that can, as in runtime/README.md.
constexpr const char* kOptions = "-cl-std=CL1.2 -cl-denorms-are-zero -w";
// Drivers link their built-in library into every program, which takes longer than compiling a
// kernel. A sequence is one function, and larger ones build slowly.
constexpr size_t kMostKernelsPerProgram = 16;
constexpr size_t kMostKernelsPerSequence = 128;
constexpr const char* kSequence = "sequence";
constexpr const char* kMerged = "merged";

// Of all that binaries depend on beside their text.
std::string identity_of(const Session& session) {
  return std::string(kOptions) + '\n' + session.fingerprint;
}

// Kernels that are built together: positions in the request, no two of them equal.
using Batch = std::vector<size_t>;

struct Placement {  // of a kernel
  cl_program program = nullptr;
  int number = 0;  // in its batch
};

struct Builder {
  const BuildRequest& request;
  KernelCache& cache;
  std::vector<Source> sources;
  const Session& session = request.session;
  const Api& api = session.api;
  std::map<std::string, Placement> placements{};  // by hash
  Build out{};
  int64_t done = 0, total = 0;
  Diags diags{};

  bool together() const { return request.form != Form::each; }  // a kernel for a batch
  bool is_one(const Batch& batch) const {
    return batch.size() == 1 || request.form == Form::merged;
  }
  size_t most() const;  // kernels of a batch
  std::vector<Batch> batches() const;
  std::vector<std::string> keys_of(const Batch& batch) const;
  Result<std::string> text_of(const Batch& batch) const;
  void keep_program(Owned<cl_program> program, const Batch& batch);
  void load_cached();
  bool load_binary(const fs::path& file, const Batch& batch);
  bool compile(const Batch& batch);
  void store(cl_program program, const Batch& batch);
  void complain(const std::string& source, cl_program program, const Batch& batch, cl_int status);
  bool build_missing();
  bool make_kernels();
};

size_t Builder::most() const {
  if (request.form == Form::merged) return sources.size();
  return request.form == Form::sequence ? kMostKernelsPerSequence : kMostKernelsPerProgram;
}

// Batches of the kernels that are not built yet.
std::vector<Batch> Builder::batches() const {
  std::vector<Batch> out_of;
  std::set<std::string> seen;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (placements.contains(sources[i].hash) || !seen.insert(sources[i].hash).second) continue;
    if (out_of.empty() || out_of.back().size() == most()) out_of.emplace_back();
    out_of.back().push_back(i);
  }
  return out_of;
}

// The cache keys of a batch.
std::vector<std::string> Builder::keys_of(const Batch& batch) const {
  std::vector<std::string> keys;
  for (const size_t k : batch) keys.push_back(sources[k].hash);
  if (request.form == Form::each) return keys;
  if (request.form == Form::merged)
    return {hash_hex(identity_of(session) + '\n' + text_of(batch).value())};
  std::string all = kSequence;
  for (const std::string& key : keys) all += '\n' + key;
  return {hash_hex(all)};
}

Result<std::string> Builder::text_of(const Batch& batch) const {
  std::vector<ir::Kernel> list;
  for (const size_t k : batch) list.push_back(named(request.kernels[k], symbol_of(sources[k])));
  switch (request.form) {
    case Form::sequence:
      return codegen::render_sequence(list, request.dialect, kSequence);
    case Form::merged:
      return codegen::render_merged(list, request.dialect, kMerged, request.threads);
    case Form::each:
      break;
  }
  return codegen::render(list, request.dialect, request.threads);
}

void Builder::keep_program(Owned<cl_program> program, const Batch& batch) {
  for (size_t i = 0; i < batch.size(); ++i)
    placements[sources[batch[i]].hash] = {program.get(), static_cast<int>(i)};
  out.programs.push_back(std::move(program));
}

// A binary that the driver no longer accepts counts as absent.
bool Builder::load_binary(const fs::path& file, const Batch& batch) {
  const auto bytes = read_file(file);
  if (!bytes) return false;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes->data());
  const size_t size = bytes->size();
  cl_int status = CL_SUCCESS;
  Owned<cl_program> program{
      api.clCreateProgramWithBinary(session.context.get(), 1, &session.place.device, &size, &data,
                                    nullptr, &status),
      api.clReleaseProgram};
  if (status != CL_SUCCESS) return false;
  status = api.clBuildProgram(program.get(), 1, &session.place.device, kOptions, nullptr, nullptr);
  if (status != CL_SUCCESS) return false;
  keep_program(std::move(program), batch);
  return true;
}

void Builder::load_cached() {
  std::map<fs::path, Batch> files;
  if (together()) {
    for (const Batch& batch : batches())
      if (const auto found = cache.find(keys_of(batch)[0])) files[found->file] = batch;
  } else {
    for (size_t i = 0; i < sources.size(); ++i)
      if (const auto found = cache.find(sources[i].hash)) files[found->file].push_back(i);
  }
  for (const auto& [file, batch] : files) load_binary(file, batch);
}

// Line and column of the first error in a log: clang's "x.cl:12:7: error: ..." or PoCL's
// "error: x.cl:12:7: ...".
std::pair<int, int> place_in(const std::string& log) {
  static const std::regex kPlace(R"(:(\d{1,9}):(\d{1,9}):)");
  std::istringstream lines(log);
  std::smatch found;
  for (std::string line; std::getline(lines, line);)
    if (line.find("error") != std::string::npos && std::regex_search(line, found, kPlace))
      return {std::stoi(found[1]), std::stoi(found[2])};
  return {0, 0};
}

void Builder::complain(const std::string& source, cl_program program, const Batch& batch,
                       cl_int status) {
  const std::string name = request.form == Form::merged
                               ? "the merged kernel"
                               : fmt::format("kernel '{}'", request.kernels[batch[0]].name);
  std::string log;
  size_t size = 0;
  if (program != nullptr &&
      api.clGetProgramBuildInfo(program, session.place.device, CL_PROGRAM_BUILD_LOG, 0, nullptr,
                                &size) == CL_SUCCESS) {
    log.resize(size);
    api.clGetProgramBuildInfo(program, session.place.device, CL_PROGRAM_BUILD_LOG, size, log.data(),
                              nullptr);
    log.resize(std::min(log.find('\0'), log.size()));
  }
  if (log.size() > 4000) log = log.substr(0, 4000) + "\n...";
  Diag d = failure("clBuildProgram", status);
  d.message =
      fmt::format("{} is not built by the driver of {}: {}\n{}", name, session.id, d.message, log);
  std::error_code ignored;
  const fs::path folder = cache.root() / "failed";
  fs::create_directories(folder, ignored);
  const fs::path file = folder / (keys_of(batch)[0] + ".cl");
  if (write_file(file, source)) {
    d.file = file.string();
    std::tie(d.line, d.col) = place_in(log);
    d.source_line = line_of(source, d.line);
  }
  diags.push_back(std::move(d));
}

// A binary may hold machine code only after it was requested or kernels have run. Without a binary,
// the program is built again next time.
void Builder::store(cl_program program, const Batch& batch) {
  size_t size = 0;
  if (api.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) !=
          CL_SUCCESS ||
      size == 0)
    return;
  std::string bytes(size, '\0');
  auto* data = reinterpret_cast<unsigned char*>(bytes.data());
  if (api.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof data, &data, nullptr) != CL_SUCCESS)
    return;
  const auto folder = cache.make_work_folder();
  if (!folder) return;
  const fs::path file = *folder / "program.clbin";
  if (write_file(file, bytes))
    if (const auto library = cache.add_library(file))
      for (const std::string& key : keys_of(batch)) cache.add(key, *library, -1);
  std::error_code ignored;
  fs::remove_all(*folder, ignored);
}

// False: the program does not build. Reported only if it holds one kernel, or a merged one.
bool Builder::compile(const Batch& batch) {
  const auto text = text_of(batch);
  ASSAY_CHECK(text.ok());  // each of them was rendered before
  const char* source = text->c_str();
  const size_t length = text->size();
  cl_int status = CL_SUCCESS;
  Owned<cl_program> program{
      api.clCreateProgramWithSource(session.context.get(), 1, &source, &length, &status),
      api.clReleaseProgram};
  if (status == CL_SUCCESS)
    status =
        api.clBuildProgram(program.get(), 1, &session.place.device, kOptions, nullptr, nullptr);
  if (status != CL_SUCCESS) {
    if (is_one(batch)) complain(*text, program.get(), batch, status);
    return false;
  }
  store(program.get(), batch);
  done += static_cast<int64_t>(batch.size());
  if (request.options.progress)
    request.options.progress(done, total, request.kernels[batch[0]].name);
  keep_program(std::move(program), batch);
  return true;
}

bool Builder::build_missing() {
  const std::vector<Batch> missing = batches();
  for (const Batch& batch : missing) total += static_cast<int64_t>(batch.size());
  for (const Batch& batch : missing) {
    if (request.options.cancel != nullptr && request.options.cancel->load()) {
      diags.push_back(error("cancelled"));
      return false;
    }
    if (compile(batch) || is_one(batch)) continue;
    for (const size_t k : batch) compile({k});  // to find which one fails
  }
  return !has_error(diags);
}

bool Builder::make_kernels() {
  std::map<cl_program, std::pair<cl_kernel, cl_kernel>> combined;
  for (size_t i = 0; i < sources.size(); ++i) {
    const Placement& at = placements.at(sources[i].hash);
    if (const auto known = combined.find(at.program); known != combined.end()) {
      out.kernels.push_back({known->second.first, at.number, nullptr, "", known->second.second});
      continue;
    }
    cl_int status = CL_SUCCESS;
    const std::string name = request.form == Form::sequence ? kSequence
                             : request.form == Form::merged ? kMerged
                                                            : symbol_of(sources[i]);
    Owned<cl_kernel> entry{api.clCreateKernel(at.program, name.c_str(), &status),
                           api.clReleaseKernel};
    if (status != CL_SUCCESS) {
      Diag d = failure("clCreateKernel", status);
      d.message = fmt::format("kernel '{}': {}", request.kernels[i].name, d.message);
      diags.push_back(std::move(d));
      continue;
    }
    Owned<cl_kernel> queues;
    if (request.form == Form::sequence) {
      queues = {api.clCreateKernel(at.program, (name + codegen::kQueuesSuffix).c_str(), &status),
                api.clReleaseKernel};
    }
    if (together()) combined[at.program] = {entry.get(), queues.get()};
    out.kernels.push_back({entry.get(), at.number, at.program, name, queues.get()});
    out.entries.push_back(std::move(entry));
    out.entries.push_back(std::move(queues));
  }
  return !has_error(diags);
}

}  // namespace

Result<Build> build(const BuildRequest& request, KernelCache& cache) {
  auto sources =
      sources_of(request.kernels, request.dialect, identity_of(request.session), request.threads);
  if (!sources) return sources.diags();
  Builder b{request, cache, std::move(sources).value()};
  if (request.form == Form::merged)
    if (const auto text = b.text_of(b.batches()[0]); !text) return text.diags();
  b.load_cached();
  const auto start = std::chrono::steady_clock::now();
  if (!b.batches().empty()) {
    if (!b.build_missing()) return std::move(b.diags);
    b.out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  if (!b.make_kernels()) return std::move(b.diags);
  return std::move(b.out);
}

}  // namespace assay::runtime::opencl
