#include "hwdesc/canonical.h"

#include <algorithm>
#include <tuple>

#include "hwdesc/fields.h"

namespace assay::hwdesc {

namespace {

template <class T>
inline constexpr bool kOrderMatters = false;
template <>
inline constexpr bool kOrderMatters<TopologyLevel> = true;
template <>
inline constexpr bool kOrderMatters<MemoryLevel> = true;

// By number where the key is one (lane widths, depths, fractions), then by text.
template <class T>
auto rank_of(const T& entry) {
  if constexpr (requires { entry.first; })
    return std::tuple(0.0, entry.first);
  else
    return std::tuple(0.0, key_of(entry));
}
auto rank_of(const LaneMode& m) {
  return std::tuple(m.width.known() ? m.width.value->v : 0.0, m.name);
}
auto rank_of(const TlbLevel& t) { return std::tuple(static_cast<double>(t.depth), std::string()); }
auto rank_of(const ShapePoint& s) {
  return std::tuple(s.units.known() ? s.units.value->v : 0.0, std::string());
}
auto rank_of(const WideBarrier& b) {
  return std::tuple(b.threads.known() ? b.threads.value->v : 0.0, std::string());
}
auto rank_of(const BarrierPoint& b) {
  return std::tuple(b.groups.known() ? b.groups.value->v : 0.0, std::string());
}

class Sort {  // visitor
 public:
  template <class M>
  void operator()(const char* key, M& member, const char*, Need) {
    if constexpr (WordList<M>) {
      if (std::string_view(key) == "features") std::sort(member.begin(), member.end());
    } else if constexpr (NamedTexts<M> || NamedValues<M>) {
      sort(member);
    } else if constexpr (EntryList<M>) {
      for (auto& entry : member) fields(*this, entry);
      if constexpr (!kOrderMatters<typename ListTraits<M>::Entry>) sort(member);
    } else if constexpr (APart<M>) {
      fields(*this, member);
    }
  }

  template <class Fill>
  void group(const char*, const char*, Fill&& fill) {
    fill(*this);
  }

 private:
  template <class List>
  static void sort(List& list) {
    std::stable_sort(list.begin(), list.end(),
                     [](const auto& a, const auto& b) { return rank_of(a) < rank_of(b); });
  }
};

}  // namespace

Profile canonical(Profile profile) {
  Sort sort;
  fields(sort, profile);
  return profile;
}

}  // namespace assay::hwdesc
