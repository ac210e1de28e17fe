#include "native.h"

#include <immintrin.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <iterator>
#include <map>
#include <thread>
#include <utility>
#include <vector>

namespace assay::bench {
namespace {

constexpr double kSample = 1e-3;  // seconds
constexpr int64_t kChunk = int64_t{4} << 20;
constexpr int64_t kDistance = kChunk + 3 * 4096;  // units in lockstep use different sets and banks

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A chain of 64 dependent additions.
void additions(int64_t times) {
  uint64_t x = 1, y = 3;
  for (int64_t i = 0; i < times; ++i)
    asm volatile(".rept 64\n add %1, %0\n .endr" : "+r"(x) : "r"(y));
}

// One step of each of 24 and 12 chains of vector multiply-adds. No compiled code here uses zmm30
// and zmm31.
void multiply_adds_16(int64_t times) {
  asm volatile("vpxord %%zmm30, %%zmm30, %%zmm30\n vpxord %%zmm31, %%zmm31, %%zmm31" ::);
  for (int64_t i = 0; i < times; ++i)
    asm volatile(
        ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23\n vfmadd231ps "
        "%%zmm30, %%zmm31, %%zmm\\n\n .endr" ::
            : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
              "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}
void multiply_adds_8(int64_t times) {
  for (int64_t i = 0; i < times; ++i)
    asm volatile(
        ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11\n vfmadd231ps %%ymm14, %%ymm15, %%ymm\\n\n .endr" ::
            : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
              "xmm10", "xmm11", "xmm14", "xmm15");
}

// Passes over `bytes`, 512 in a step. The offset wraps around by a conditional move: a mispredicted
// branch at the end of each pass would cost a tenth of a pass through L1.
#define ASSAY_STREAM(name, body)                                                               \
  void name(const char* from, char* to, int64_t bytes, int64_t steps) {                        \
    int64_t at = 0, zero = 0;                                                                  \
    asm volatile(                                                                              \
        "1:\n .set offset, 0\n .rept 8\n" body                                                 \
        ".set offset, offset + 64\n .endr\n"                                                   \
        "add $512, %[at]\n cmp %[bytes], %[at]\n cmove %[zero], %[at]\n dec %[steps]\n jnz 1b" \
        : [at] "+&r"(at), [steps] "+&r"(steps)                                                 \
        : [from] "r"(from), [to] "r"(to), [bytes] "r"(bytes), [zero] "r"(zero)                 \
        : "memory", "cc", "xmm0", "xmm1");                                                     \
  }
ASSAY_STREAM(read_16, "vmovups offset(%[from],%[at]), %%zmm0\n")
ASSAY_STREAM(write_16, "vmovups %%zmm0, offset(%[to],%[at])\n")
ASSAY_STREAM(copy_16,
             "vmovups offset(%[from],%[at]), %%zmm0\n vmovups %%zmm0, offset(%[to],%[at])\n")
ASSAY_STREAM(read_8,
             "vmovups offset(%[from],%[at]), %%ymm0\n vmovups offset+32(%[from],%[at]), %%ymm1\n")
ASSAY_STREAM(write_8,
             "vmovups %%ymm0, offset(%[to],%[at])\n vmovups %%ymm1, offset+32(%[to],%[at])\n")
ASSAY_STREAM(copy_8,
             "vmovups offset(%[from],%[at]), %%ymm0\n vmovups %%ymm0, offset(%[to],%[at])\n"
             "vmovups offset+32(%[from],%[at]), %%ymm1\n vmovups %%ymm1, offset+32(%[to],%[at])\n")
#undef ASSAY_STREAM

using Stream = void (*)(const char*, char*, int64_t bytes, int64_t steps);
constexpr int64_t kStep = 512;

// Offsets to which a copy is written. On some processors (AMD Zen 3) some of them take up to three
// times as long, others in each run. And large pages to read from: a host may back some of them by
// small pages that conflict in a cache's sets (AMD Zen 5). The reference is the fastest.
constexpr int64_t kReadFrom[] = {0, 2 << 20, 4 << 20, 6 << 20};
constexpr int64_t kWrittenFrom[] = {
    0, 64, 512, 1088, 2112, 37 * 4096 + 576, 2 << 20, (4 << 20) + 64, (6 << 20) + 576};
constexpr int64_t kRoom = (6 << 20) + 4096;

struct Huge {  // pages of 2 MiB where the system gives them
  explicit Huge(int64_t size) : bytes(static_cast<size_t>(size)) {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    data = p == MAP_FAILED ? nullptr : static_cast<char*>(p);
    if (data == nullptr) return;
    madvise(data, bytes, MADV_HUGEPAGE);
    for (size_t i = 0; i < bytes; i += 4096) data[i] = static_cast<char>(i >> 12);
  }
  ~Huge() {
    if (data != nullptr) munmap(data, bytes);
  }
  Huge(const Huge&) = delete;
  Huge& operator=(const Huge&) = delete;
  char* data = nullptr;
  size_t bytes;
};

std::vector<int> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> out;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int c = 0; c < CPU_SETSIZE; ++c)
      if (CPU_ISSET(c, &set)) out.push_back(c);
  return out;
}

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

struct Native::Crew {
  Crew(int64_t bytes, bool wide)
      : from(bytes), to(bytes + kRoom), lanes(wide ? 16 : 8), cpus(usable_cpus()) {}

  // On all `units` at once; seconds from the first start to the last end.
  double run(int units, const std::function<void(int)>& work) const {
    std::atomic<int> arrived{0};
    std::vector<double> begin(static_cast<size_t>(units)), end(static_cast<size_t>(units));
    const auto part = [&](int u) {
      pin(cpus[static_cast<size_t>(u)]);
      ++arrived;
      while (arrived.load() < units) _mm_pause();
      begin[static_cast<size_t>(u)] = now();
      work(u);
      end[static_cast<size_t>(u)] = now();
    };
    std::vector<std::thread> threads;
    for (int u = 0; u < units; ++u) threads.emplace_back(part, u);
    for (std::thread& t : threads) t.join();
    return *std::max_element(end.begin(), end.end()) -
           *std::min_element(begin.begin(), begin.end());
  }

  // Seconds per iteration. The count that makes a sample long enough is found once.
  double per_time(int64_t& times, const std::function<void(int64_t)>& work) const {
    if (times == 0)
      for (times = 1;; times *= 2) {
        const double t = run(1, [&](int) { work(times); });
        if (t > kSample / 4) {
          times =
              std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(times) * kSample / t));
          break;
        }
      }
    double best = 0;
    run(1, [&](int) {
      work(std::max<int64_t>(1, times / 8));  // warms clock and caches
      const double start = now();
      work(times);
      best = now() - start;
    });
    return best / static_cast<double>(times);
  }

  double stream(Stream wide, Stream narrow, int64_t bytes, bool writes) {
    const Stream pass = lanes == 16 ? wide : narrow;
    bytes = std::min<int64_t>(bytes / kStep * kStep,
                              static_cast<int64_t>(from.bytes) - std::ranges::max(kReadFrom));
    const auto seconds = [&](int64_t place) {
      int64_t times = 0;
      return per_time(times, [&](int64_t n) {
        pass(from.data + (writes ? 0 : place), to.data + (writes ? place : 0), bytes,
             n * (bytes / kStep));
      });
    };
    const auto [chosen, is_new] = places.try_emplace({pass, bytes}, 0);
    if (is_new) {
      const auto faster = [&](int64_t a, int64_t b) { return seconds(a) < seconds(b); };
      chosen->second =
          writes ? std::ranges::min(kWrittenFrom, faster) : std::ranges::min(kReadFrom, faster);
    }
    return seconds(chosen->second) / static_cast<double>(bytes);
  }

  Huge from, to;
  std::map<std::pair<Stream, int64_t>, int64_t> places;  // offset of each loop and size
  int lanes;
  std::vector<int> cpus;
  int64_t additions_ = 0, multiply_adds_ = 0, turn = 0;
};

Native::Native(std::unique_ptr<Crew> crew) : crew_(std::move(crew)) {}
Native::~Native() = default;

std::unique_ptr<Native> Native::make(int64_t bytes) {
  const bool wide = __builtin_cpu_supports("avx512f") != 0;
  if (!wide && !(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))) return nullptr;
  auto crew = std::make_unique<Crew>(bytes, wide);
  if (crew->from.data == nullptr || crew->to.data == nullptr || crew->cpus.empty()) return nullptr;
  return std::unique_ptr<Native>(new Native(std::move(crew)));
}

int Native::units() const { return static_cast<int>(crew_->cpus.size()); }
int Native::lanes() const { return crew_->lanes; }

double Native::addition() { return crew_->per_time(crew_->additions_, additions) / 64; }
double Native::multiply_add() {
  const bool wide = crew_->lanes == 16;
  return crew_->per_time(crew_->multiply_adds_, wide ? multiply_adds_16 : multiply_adds_8) /
         (wide ? 24 : 12);
}

double Native::read(int64_t bytes) { return crew_->stream(read_16, read_8, bytes, false); }
double Native::write(int64_t bytes) { return crew_->stream(write_16, write_8, bytes, true); }
double Native::copy(int64_t bytes) { return crew_->stream(copy_16, copy_8, bytes, true) / 2; }

int64_t Native::turns() const {
  return static_cast<int64_t>(crew_->from.bytes) / (kDistance * units());
}

void Native::read_all_once() {
  for (int64_t i = 0; i < turns(); ++i) read_far();
}

double Native::read_far() {
  // Consecutive parts, none of them cached, as the probe's samples begin.
  const int64_t at = crew_->turn++ % turns() * units();
  const Stream pass = crew_->lanes == 16 ? read_16 : read_8;
  const auto read = [&](int u) {
    pass(crew_->from.data + (at + u) * kDistance, crew_->to.data, kChunk, kChunk / kStep);
  };
  return crew_->run(units(), read) / static_cast<double>(kChunk * units());
}

}  // namespace assay::bench
