#include "toolkit/counter_rng.h"

namespace assay::toolkit {
namespace {

constexpr uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

constexpr uint64_t fnv(std::string_view name) {
  uint64_t h = 0xCBF29CE484222325U;
  for (char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return h;
}

// value(i) from the 24 random bits of each place.
template <class F>
std::vector<float> drawn(uint64_t seed, std::string_view name, int64_t count, F value) {
  const uint64_t key = mix(fnv(name) ^ mix(seed));
  std::vector<float> out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = value(static_cast<int64_t>(mix(key + (i + 1) * 0x9E3779B97F4A7C15U) >> 40));
  return out;
}

}  // namespace

std::vector<float> uniform(uint64_t seed, std::string_view name, int64_t count) {
  return drawn(seed, name, count, [](int64_t bits) {
    const int64_t odd = bits * 2 + 1 - (int64_t{1} << 24);
    return static_cast<float>(static_cast<double>(odd) / static_cast<double>(int64_t{1} << 24));
  });
}

std::vector<float> uniform_integers(uint64_t seed, std::string_view name, int64_t count,
                                    int64_t low, int64_t high) {
  return drawn(seed, name, count, [&](int64_t bits) {
    return static_cast<float>(low + (bits * (high - low + 1) >> 24));
  });
}

}  // namespace assay::toolkit
