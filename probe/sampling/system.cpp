#include "probe/sampling/system.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace assay::probe {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
}

// First line of /proc/stat: user nice system idle iowait irq softirq steal, in ticks.
void read_machine_times(CpuTimes& t) {
  std::ifstream in("/proc/stat");
  std::string word;
  double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
  if (!(in >> word >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal)) return;
  const double tick = 1.0 / static_cast<double>(std::max(1L, ::sysconf(_SC_CLK_TCK)));
  t.busy = (user + nice + system + irq + softirq) * tick;
  t.stolen = steal * tick;
}

// /proc/self/task/<thread>/schedstat: ns on a CPU, ns ready but waiting, time slices.
double read_waited() {
  double sum = 0;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", failed)) {
    std::ifstream in(entry.path() / "schedstat");
    double on_cpu = 0, waiting = 0;
    if (in >> on_cpu >> waiting) sum += waiting * 1e-9;
  }
  return sum;
}

std::string chosen_word(const std::string& text) {  // always [madvise] never -> madvise
  const size_t open = text.find('['), close = text.find(']');
  return open == std::string::npos || close == std::string::npos
             ? text
             : text.substr(open + 1, close - open - 1);
}

void add_caches(std::vector<std::pair<std::string, std::string>>& out) {
  const std::string base = "/sys/devices/system/cpu/cpu0/cache/index";
  for (int i = 0; i < 8; ++i) {
    const std::string at = base + std::to_string(i) + "/";
    const std::string level = text_of(at + "level"), kind = text_of(at + "type");
    if (level.empty() || kind == "Instruction") continue;
    out.emplace_back(
        "declared.l" + level,
        fmt::format("{}, shared by CPUs {}, line {} B", text_of(at + "size"),
                    text_of(at + "shared_cpu_list"), text_of(at + "coherency_line_size")));
  }
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

}  // namespace

CpuTimes read_cpu_times() {
  CpuTimes t;
  t.wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  t.own = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  t.cpus = static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  t.waited = read_waited();
  read_machine_times(t);
  return t;
}

double kept_waiting(const CpuTimes& before, const CpuTimes& after) {
  const double wall = std::max(after.wall - before.wall, 1e-9);
  const double not_ours = std::max(0.0, wall * after.cpus - (after.own - before.own));
  const double waited = std::min(after.waited - before.waited, not_ours);
  return std::clamp((waited + after.stolen - before.stolen) / wall, 0.0, 1.0);
}

double co_tenant_share(const CpuTimes& before, const CpuTimes& after) {
  const double wall = std::max(after.wall - before.wall, 1e-9);
  const double others =
      (after.busy - before.busy) - (after.own - before.own) + (after.stolen - before.stolen);
  return std::clamp((others - 0.020) / (wall * after.cpus), 0.0, 1.0);
}

std::vector<std::pair<std::string, std::string>> declared_facts() {
  std::vector<std::pair<std::string, std::string>> out;
  utsname os{};
  ::uname(&os);
  out.emplace_back("os", fmt::format("{} {} {}", os.sysname, os.release, os.machine));
  const double bytes = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                       static_cast<double>(::sysconf(_SC_PAGE_SIZE));
  out.emplace_back("memory", fmt::format("{:.1f} GiB", bytes / (1 << 30)));
  const std::string huge = text_of("/sys/kernel/mm/transparent_hugepage/enabled");
  out.emplace_back("huge_pages", huge.empty() ? "not offered" : chosen_word(huge));
  out.emplace_back("load_before", text_of("/proc/loadavg").substr(0, 14));
  out.emplace_back("date", today());
  add_caches(out);
  return out;
}

}  // namespace assay::probe
