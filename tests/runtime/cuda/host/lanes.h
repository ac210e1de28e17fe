// Groups of a launch on one thread of the host: lanes are coroutines that switch at barriers and
// where they sleep. Groups that run together take turns in drawn orders, each until all its lanes
// wait, sleep or have ended.
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace host_cuda {

constexpr size_t kStackBytes = 256 * 1024;
constexpr unsigned kWarp = 32;
constexpr int kOfWarp = -1, kOfBlock = 0;  // barriers; above 0: of so many lanes of the block
constexpr unsigned char kPoison = 0xFF;    // group memory at first

struct Dim {
  unsigned x, y, z;
};

struct Lane {
  ucontext_t context{};
  std::unique_ptr<char[]> stack{new char[kStackBytes]};
  bool ended = false, asleep = false;
  unsigned wanted = 0;  // lanes at the barrier at which it waits; 0: it does not
  int barrier = 0;
};

struct Group {
  unsigned number = 0;
  std::vector<Lane> lanes;
  std::vector<unsigned char> memory;
  int votes = 0;
};

using Call = void (*)(void* entry, const std::vector<int64_t>& arguments);

struct Kernel {
  void* entry;
  const std::vector<int64_t>* arguments;
  Call call;
  unsigned threads;
  size_t group_bytes;
  Dim *group_number, *lane_number;
  unsigned char* memory;  // of the group that runs; null: the kernel has none
};

struct Running {
  const Kernel* kernel = nullptr;
  Group* group = nullptr;
  size_t lane = 0;
  ucontext_t host{};
} running;

inline Lane& this_lane() { return running.group->lanes[running.lane]; }
inline void leave() { swapcontext(&this_lane().context, &running.host); }

inline void barrier(int number, unsigned count) {
  Lane& l = this_lane();
  const unsigned threads = running.kernel->threads,
                 warp = static_cast<unsigned>(running.lane) / kWarp;
  l.barrier = number == kOfWarp ? -1 - static_cast<int>(warp) : number;
  l.wanted = number == kOfWarp    ? std::min(kWarp, threads - warp * kWarp)
             : number == kOfBlock ? threads
                                  : count;
  leave();
}

inline void sleep() {
  this_lane().asleep = true;
  leave();
}

// Whether any lane of the block says so. The first lane goes on first behind a barrier.
inline int vote(int yes) {
  Group& g = *running.group;
  g.votes |= yes;
  barrier(kOfBlock, 0);
  const int any = g.votes;
  barrier(kOfBlock, 0);
  if (running.lane == 0) g.votes = 0;
  return any;
}

inline void be_lane() {
  running.kernel->call(running.kernel->entry, *running.kernel->arguments);
  this_lane().ended = true;
}

inline void begin(Group& g, unsigned number, const Kernel& k) {
  g.number = number;
  g.memory.assign(k.group_bytes, kPoison);
  g.lanes.resize(std::max<size_t>(g.lanes.size(), k.threads));
  for (unsigned l = 0; l < k.threads; ++l) {
    Lane& lane = g.lanes[l];
    lane.ended = lane.asleep = false;
    lane.wanted = 0;
    getcontext(&lane.context);
    lane.context.uc_stack.ss_sp = lane.stack.get();
    lane.context.uc_stack.ss_size = kStackBytes;
    lane.context.uc_link = &running.host;
    makecontext(&lane.context, be_lane, 0);
  }
}

inline bool has_ended(const Group& g, const Kernel& k) {
  return std::all_of(g.lanes.begin(), g.lanes.begin() + k.threads,
                     [](const Lane& l) { return l.ended; });
}

// Lanes at barriers where all have come go on. Where lanes want different numbers of them, none
// does.
inline void release(Group& g, const Kernel& k) {
  const auto last = g.lanes.begin() + k.threads;
  for (auto l = g.lanes.begin(); l != last; ++l) {
    const unsigned wanted = l->wanted;
    const auto is_there = [&](const Lane& o) { return o.wanted != 0 && o.barrier == l->barrier; };
    const auto differs = [&](const Lane& o) { return is_there(o) && o.wanted != wanted; };
    if (wanted == 0 || std::any_of(g.lanes.begin(), last, differs) ||
        std::count_if(g.lanes.begin(), last, is_there) != static_cast<long>(wanted))
      continue;
    for (auto o = g.lanes.begin(); o != last; ++o)
      if (is_there(*o) && &*o != &*l) o->wanted = 0;
    l->wanted = 0;
  }
}

// The group's turn. False: none of its lanes can go on.
inline bool take_turn(Group& g, const Kernel& k) {
  bool moved = false;
  running.group = &g;
  k.group_number->x = g.number;
  if (k.memory != nullptr) std::memcpy(k.memory, g.memory.data(), k.group_bytes);
  for (Lane& l : g.lanes) l.asleep = false;
  for (bool going_on = true; going_on;) {
    going_on = false;
    for (unsigned l = 0; l < k.threads; ++l) {
      Lane& lane = g.lanes[l];
      if (lane.ended || lane.asleep || lane.wanted != 0) continue;
      running.lane = l;
      k.lane_number->x = l;
      swapcontext(&running.host, &lane.context);
      moved = going_on = true;
    }
    release(g, k);
  }
  if (k.memory != nullptr) std::memcpy(g.memory.data(), k.memory, k.group_bytes);
  return moved;
}

// The same order in each process.
inline uint64_t drawn() {
  static uint64_t state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}

// All groups at once, but the group `absent`, which never begins. False: lanes wait for ever.
inline bool run_together(const Kernel& k, unsigned groups, long absent) {
  running.kernel = &k;
  static std::vector<Group> all;
  all.resize(std::max<size_t>(all.size(), groups));
  std::vector<size_t> order(groups);
  std::iota(order.begin(), order.end(), 0);
  for (unsigned g = 0; g < groups; ++g) begin(all[g], g, k);
  if (absent >= 0 && absent < static_cast<long>(groups)) order.erase(order.begin() + absent);
  while (!order.empty()) {
    for (size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[drawn() % (i + 1)]);
    bool moved = false;
    for (const size_t g : order) moved |= take_turn(all[g], k);
    if (!moved) return false;
    std::erase_if(order, [&](size_t g) { return has_ended(all[g], k); });
  }
  return true;
}

// One group after the other.
inline bool run_in_turn(const Kernel& k, unsigned groups) {
  running.kernel = &k;
  static Group group;
  for (unsigned g = 0; g < groups; ++g) {
    begin(group, g, k);
    while (!has_ended(group, k))
      if (!take_turn(group, k)) return false;
  }
  return true;
}

}  // namespace host_cuda
