// Uniform numbers as a pure function of (seed, name, index): the generator of
// examples/models/counter_rng.py, bit for bit, so that two programs that share no code agree on
// every input.
//
// With mix the finaliser of splitmix64:
// - key      = mix(fnv1a(name) ^ mix(seed))
// - bits(i)  = mix(key + (i + 1) * 0x9E3779B97F4A7C15)
// - value(i) = float32((2 * (bits(i) >> 40) + 1 - 2^24) / 2^24), in (-1, 1) and never 0
// - integer(i) = low + ((bits(i) >> 40) * (high - low + 1) >> 24), in [low, high]
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace assay::toolkit {

std::vector<float> uniform(uint64_t seed, std::string_view name, int64_t count);

// Pre: f32 holds every integer of the range.
std::vector<float> uniform_integers(uint64_t seed, std::string_view name, int64_t count,
                                    int64_t low, int64_t high);

}  // namespace assay::toolkit
