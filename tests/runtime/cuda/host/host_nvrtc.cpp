// NVRTC on the host: "machine code" is a shared object that g++ makes of the kernel's source.
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

#include "common.h"
#include "prelude.h"

namespace {

using namespace host_cuda;

struct Program {
  std::string source, log, code;
};

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Parameters and threads of each entry, which real machine code has.
std::string facts_of(const std::string& source) {
  static const std::regex kEntry(
      R"re(extern "C" __global__ void __launch_bounds__\((\d+)(?:, \d+)?\) (\w+)\(([^)]*)\))re");
  std::string out = "\nextern \"C\" {\n";
  for (std::sregex_iterator i(source.begin(), source.end(), kEntry), end; i != end; ++i) {
    const std::string parameters = (*i)[3];
    const auto commas = std::count(parameters.begin(), parameters.end(), ',');
    out += "int " + (*i)[2].str() + "_parameters = " + std::to_string(commas + 1) + ";\n";
    out += "int " + (*i)[2].str() + "_threads = " + (*i)[1].str() + ";\n";
  }
  out += "}\n";
  if (source.find("group_memory[]") != std::string::npos)
    out += "unsigned char group_memory[" + std::to_string(kGroupBytes) +
           "] __attribute__((aligned(64)));\n";
  return out;
}

}  // namespace

API const char* nvrtcGetErrorString(int status) {
  return status == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR";
}
API int nvrtcVersion(int* major, int* minor) {
  *major = 0;
  *minor = HOST_CUDA_VERSION;
  return 0;
}
API int nvrtcGetNumSupportedArchs(int* count) {
  *count = 2;
  return 0;
}
API int nvrtcGetSupportedArchs(int* all) {
  all[0] = 80;
  all[1] = 90;
  return 0;
}

API int nvrtcCreateProgram(Program** program, const char* source, const char*, int,
                           const char* const*, const char* const*) {
  *program = new Program{source, "", ""};
  return 0;
}

API int nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return 0;
}

API int nvrtcCompileProgram(Program* p, int count, const char* const* options) {
  for (int i = 0; i < count; ++i) note("option %s\n", options[i]);
  if (number("FAIL_BUILD") >= 0) {
    p->log =
        "kernel.cu(2): error: this declaration has no storage class or type specifier\n  template "
        "<class T>\n      ^\n";
    return 6;
  }
  const Folder folder;
  const std::string file = folder.path + "/kernel.cpp", code = folder.path + "/kernel.so",
                    log = folder.path + "/log";
  std::ofstream(file) << kPrelude << p->source << facts_of(p->source);
  const std::string command =
      "g++ -std=c++20 -O2 -march=native -ffp-contract=fast -w -fPIC -shared -o " + code + " " +
      file + " 2> " + log;
  const int status = std::system(command.c_str());
  p->log = text_of(log);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return 6;
  p->code = text_of(code);
  return 0;
}

API int nvrtcGetProgramLogSize(Program* p, size_t* size) {
  *size = p->log.size() + 1;
  return 0;
}
API int nvrtcGetProgramLog(Program* p, char* log) {
  std::memcpy(log, p->log.c_str(), p->log.size() + 1);
  return 0;
}
API int nvrtcGetCUBINSize(Program* p, size_t* size) {
  *size = p->code.size();
  return 0;
}
API int nvrtcGetCUBIN(Program* p, char* code) {
  std::memcpy(code, p->code.data(), p->code.size());
  return 0;
}
