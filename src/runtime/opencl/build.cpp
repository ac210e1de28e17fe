#include "runtime/opencl/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "base/hash.h"
#include "codegen/render.h"

namespace assay::runtime::opencl {
namespace {

namespace fs = std::filesystem;

// Denormals are flushed on every device where that is possible; see the runtime's README.
constexpr const char* kOptions = "-cl-std=CL1.2 -cl-denorms-are-zero -w";
// The driver's own library is linked into every program, which takes longer than a kernel does.
constexpr size_t kMostKernelsPerProgram = 16;

std::string symbol_of(const std::string& hash) { return "k_" + hash; }

ir::Kernel named(const ir::Kernel& k, std::string name) {
  ir::Kernel copy = k;
  copy.name = std::move(name);
  return copy;
}

struct Builder {
  const BuildRequest& request;
  KernelCache& cache;
  const Session& session = request.session;
  const Api& api = session.api;
  std::vector<std::string> hashes{};              // per kernel
  std::map<std::string, cl_program> program_of{};  // by hash
  Build out{};
  int64_t done = 0, total = 0;
  Diags diags{};

  bool hash_sources();
  bool keep_program(Owned<cl_program> program, const std::vector<size_t>& kernels);
  void load_cached();
  bool load_binary(const fs::path& file, const std::vector<size_t>& kernels);
  bool compile(const std::vector<size_t>& kernels);
  void store(cl_program program, const std::vector<size_t>& kernels);
  void complain(const std::string& source, cl_program program, size_t kernel, cl_int status);
  bool build_missing(const std::vector<size_t>& kernels);
  bool make_kernels();
};

bool Builder::hash_sources() {
  const std::string identity = std::string(kOptions) + '\n' + session.fingerprint + '\n';
  for (const ir::Kernel& k : request.kernels) {
    const std::vector<ir::Kernel> one{named(k, "k")};
    const auto text = codegen::render(one, request.dialect);
    hashes.push_back(text ? hash_hex(identity + *text) : "");
    if (text) continue;
    for (Diag d : text.diags()) {
      const size_t at = d.message.find("kernel 'k'");
      if (at != std::string::npos) d.message.replace(at, 10, "kernel '" + k.name + "'");
      diags.push_back(std::move(d));
    }
  }
  return !has_error(diags);
}

bool Builder::keep_program(Owned<cl_program> program, const std::vector<size_t>& kernels) {
  for (const size_t k : kernels) program_of[hashes[k]] = program.get();
  out.programs.push_back(std::move(program));
  return true;
}

// A binary that the driver no longer takes counts as absent.
bool Builder::load_binary(const fs::path& file, const std::vector<size_t>& kernels) {
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
  return status == CL_SUCCESS && keep_program(std::move(program), kernels);
}

void Builder::load_cached() {
  std::map<fs::path, std::vector<size_t>> libraries;
  for (size_t i = 0; i < hashes.size(); ++i)
    if (const auto found = cache.find(hashes[i])) libraries[found->library].push_back(i);
  for (const auto& [file, kernels] : libraries) load_binary(file, kernels);
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

void Builder::complain(const std::string& source, cl_program program, size_t kernel, cl_int status) {
  const std::string& name = request.kernels[kernel].name;
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
  d.message = fmt::format("kernel '{}' is not built by the driver of {}: {}\n{}", name, session.id,
                          d.message, log);
  std::error_code ignored;
  const fs::path folder = cache.root() / "failed";
  fs::create_directories(folder, ignored);
  const fs::path file = folder / (hashes[kernel] + ".cl");
  if (write_file(file, source)) {
    d.file = file.string();
    std::tie(d.line, d.col) = place_in(log);
    d.source_line = line_of(source, d.line);
  }
  diags.push_back(std::move(d));
}

// The binary holds machine code once the driver has been asked for it, or once kernels have run;
// a driver that gives none is asked to build again next time.
void Builder::store(cl_program program, const std::vector<size_t>& kernels) {
  size_t size = 0;
  if (api.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) != CL_SUCCESS ||
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
      for (const size_t k : kernels) cache.add(hashes[k], *library, -1);
  std::error_code ignored;
  fs::remove_all(*folder, ignored);
}

// False: this program does not build; said when it holds one kernel only.
bool Builder::compile(const std::vector<size_t>& kernels) {
  std::vector<ir::Kernel> list;
  for (const size_t k : kernels) list.push_back(named(request.kernels[k], symbol_of(hashes[k])));
  const auto text = codegen::render(list, request.dialect);
  ASSAY_CHECK(text.ok());  // each of them has been rendered before
  const char* source = text->c_str();
  const size_t length = text->size();
  cl_int status = CL_SUCCESS;
  Owned<cl_program> program{
      api.clCreateProgramWithSource(session.context.get(), 1, &source, &length, &status),
      api.clReleaseProgram};
  if (status == CL_SUCCESS)
    status = api.clBuildProgram(program.get(), 1, &session.place.device, kOptions, nullptr, nullptr);
  if (status != CL_SUCCESS) {
    if (kernels.size() == 1) complain(*text, program.get(), kernels[0], status);
    return false;
  }
  store(program.get(), kernels);
  done += static_cast<int64_t>(kernels.size());
  if (request.options.progress)
    request.options.progress(done, total, request.kernels[kernels[0]].name);
  return keep_program(std::move(program), kernels);
}

bool Builder::build_missing(const std::vector<size_t>& kernels) {
  total = static_cast<int64_t>(kernels.size());
  for (size_t at = 0; at < kernels.size(); at += kMostKernelsPerProgram) {
    if (request.options.cancel != nullptr && request.options.cancel->load()) {
      diags.push_back(error("cancelled"));
      return false;
    }
    const auto first = kernels.begin() + static_cast<ptrdiff_t>(at);
    const auto count = std::min(kMostKernelsPerProgram, kernels.size() - at);
    const std::vector<size_t> batch(first, first + static_cast<ptrdiff_t>(count));
    if (compile(batch) || batch.size() == 1) continue;
    for (const size_t k : batch) compile({k});  // to learn which one is at fault
  }
  return !has_error(diags);
}

bool Builder::make_kernels() {
  for (size_t i = 0; i < hashes.size(); ++i) {
    cl_int status = CL_SUCCESS;
    out.kernels.push_back({api.clCreateKernel(program_of.at(hashes[i]), symbol_of(hashes[i]).c_str(), &status),
                           api.clReleaseKernel});
    if (status == CL_SUCCESS) continue;
    Diag d = failure("clCreateKernel", status);
    d.message = fmt::format("kernel '{}': {}", request.kernels[i].name, d.message);
    diags.push_back(std::move(d));
  }
  return !has_error(diags);
}

}  // namespace

Result<Build> build(const BuildRequest& request, KernelCache& cache) {
  Builder b{request, cache};
  if (!b.hash_sources()) return std::move(b.diags);
  b.load_cached();
  std::vector<size_t> missing;
  std::set<std::string> seen;
  for (size_t i = 0; i < b.hashes.size(); ++i)
    if (!b.program_of.contains(b.hashes[i]) && seen.insert(b.hashes[i]).second) missing.push_back(i);
  const auto start = std::chrono::steady_clock::now();
  if (!missing.empty()) {
    if (!b.build_missing(missing)) return std::move(b.diags);
    b.out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  if (!b.make_kernels()) return std::move(b.diags);
  return std::move(b.out);
}

}  // namespace assay::runtime::opencl
