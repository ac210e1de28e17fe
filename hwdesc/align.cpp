#include "hwdesc/align.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "hwdesc/target.h"

namespace assay::hwdesc {

namespace {

std::string role_of(const MemoryLevel& m) {
  if (m.per == "host" || !m.link.empty()) return "host";
  if (is_scratchpad(m)) return "scratchpad";
  return m.managed == Managed::explicit_ ? "device" : "cache " + m.path;
}

using Levels = std::vector<const MemoryLevel*>;

std::map<std::string, Levels> by_role(const Profile& p) {
  std::map<std::string, Levels> out;
  for (const MemoryLevel& m : p.memory) out[role_of(m)].push_back(&m);
  return out;
}

// How unlike two memories are: a factor of two is log 2. Unknown values tell nothing.
double unlike(const MemoryLevel& a, const MemoryLevel& b) {
  constexpr double kOtherName = 1e-6;  // decides where nothing else does
  double out = a.name == b.name ? 0 : kOtherName;
  if (a.capacity.known() && b.capacity.known())
    out += std::abs(std::log(a.capacity.value->v / b.capacity.value->v));
  else if (a.latency.known() && b.latency.known() &&
           a.latency.value->clock == b.latency.value->clock)
    out += std::abs(std::log(a.latency.value->v / b.latency.value->v));
  return out;
}

// For each of `few` the one of `many` that it matches, in order, with the least sum of `unlike`.
// best[i][j]: of few[i..] and many[j..].
std::vector<size_t> match(const Levels& few, const Levels& many) {
  const size_t n = few.size(), all = many.size();
  std::vector best(n + 1, std::vector(all + 1, std::numeric_limits<double>::infinity()));
  for (size_t j = 0; j <= all; ++j) best[n][j] = 0;
  for (size_t i = n; i-- > 0;)
    for (size_t j = all; j-- > 0;)
      best[i][j] = std::min(best[i][j + 1], best[i + 1][j + 1] + unlike(*few[i], *many[j]));
  std::vector<size_t> out;
  for (size_t i = 0, j = 0; i < n; ++j)
    if (best[i][j] < best[i][j + 1]) {
      out.push_back(j);
      ++i;
    }
  return out;
}

bool has(const Profile& p, const std::string& memory) {
  return std::any_of(p.memory.begin(), p.memory.end(),
                     [&](const MemoryLevel& m) { return m.name == memory; });
}

void rename(Profile& p, const std::map<std::string, std::string>& names) {
  const auto to = [&](std::string& name) {
    if (const auto it = names.find(name); it != names.end()) name = it->second;
  };
  for (MemoryLevel& m : p.memory) {
    to(m.name);
    to(m.backed_by);
  }
  for (AccessPath& path : p.paths)
    for (std::string& m : path.through) to(m);
  for (Mover& m : p.movers) {
    to(m.from);
    to(m.to);
  }
}

}  // namespace

Aligned aligned_to(const Profile& reference, Profile profile) {
  const auto theirs = by_role(reference), own = by_role(profile);
  std::map<std::string, std::string> names;
  for (const auto& [role, levels] : own) {
    const auto there = theirs.find(role);
    if (there == theirs.end()) continue;
    const bool fewer = levels.size() <= there->second.size();
    const Levels& few = fewer ? levels : there->second;
    const Levels& many = fewer ? there->second : levels;
    const std::vector<size_t> matches = match(few, many);
    for (size_t i = 0; i < matches.size(); ++i) {
      const MemoryLevel &a = *few[i], &b = *many[matches[i]];
      names[fewer ? a.name : b.name] = fewer ? b.name : a.name;
    }
  }
  // One name in two roles: what differs is what the memory is.
  std::set<std::string> taken;
  for (const auto& [from, to] : names) taken.insert(to);
  for (const MemoryLevel& m : profile.memory)
    if (!names.contains(m.name) && !taken.contains(m.name) && has(reference, m.name))
      names[m.name] = m.name;
  Aligned out;
  for (const auto& [from, to] : names)
    if (from != to) out.names.emplace_back(to, from);
  // A memory without a partner must not have the name of another one's.
  for (const MemoryLevel& m : profile.memory) {
    if (names.contains(m.name)) continue;
    std::string alone = m.name;
    while (has(reference, alone)) alone += "+";
    names[m.name] = alone;
  }
  rename(profile, names);
  out.profile = std::move(profile);
  return out;
}

}  // namespace assay::hwdesc
