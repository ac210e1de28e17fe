#include "hwdesc/inherited.h"

#include <algorithm>
#include <map>
#include <optional>

#include "hwdesc/any_value.h"
#include "hwdesc/walk.h"

namespace assay::hwdesc {

namespace {

using Values = std::map<std::string, AnyValue>;

struct Collect {  // leaf: known values by path
  Values& to;
  template <class M>
  void operator()(const Path& path, const M& member) const {
    if constexpr (AValue<M>)
      if (member.known()) to[dotted(path)] = to_any(member);
  }
};

Values values_of(const Profile& p) {
  Values out;
  walk(p, Collect{out});
  return out;
}

std::string text_of(const AnyValue& v) {
  return print_quantity(v.value->v, v.value->clock, v.dimension);
}

bool in_ticks(const AnyValue& v) { return !v.value->clock.empty(); }

bool is_timed(const AnyValue& v) {
  return v.dimension == Dimension::bandwidth || v.dimension == Dimension::rate ||
         v.dimension == Dimension::latency;
}

class Doubts {  // invariant: refers to profiles that outlive it
 public:
  Doubts(const Profile& parent, const Profile& child)
      : parent_(parent), child_(child), before_(values_of(parent)), after_(values_of(child)) {}

  std::vector<Finding> find(const std::function<bool(const std::string&)>& given) {
    walk(child_, [&]<class M>(const Path& path, const M& member) {
      if constexpr (AValue<M>) {
        const std::string place = dotted(path);
        if (!member.known() || !inherited(place) || given(place)) return;
        if (const std::string why = cause(path, to_any(member)); !why.empty())
          out_.push_back({Severity::note, place,
                          text_of(to_any(member)) + " is inherited from '" + parent_.name +
                              "', where " + why + ": probably another value here",
                          "give its own value, or unknown"});
      }
    });
    return std::move(out_);
  }

 private:
  bool inherited(const std::string& path) const {
    const auto was = before_.find(path), is = after_.find(path);
    return was != before_.end() && is != after_.end() && was->second == is->second;
  }

  // "clocks.core.max is 1 GHz"; empty where both have the same.
  std::string changed(const std::string& path) const {
    const auto was = before_.find(path), is = after_.find(path);
    if (was == before_.end() || is == after_.end() || was->second.value == is->second.value)
      return "";
    return path + " is " + text_of(was->second) + ", not " + text_of(is->second);
  }

  std::string changed_count() const {
    for (const TopologyLevel& t : child_.topology)
      if (const std::string why = changed("topology." + t.name + ".count"); !why.empty())
        return why;
    return "";
  }

  std::string changed_class() const {
    if (parent_.chip_class == child_.chip_class || parent_.chip_class.empty()) return "";
    return "class is " + parent_.chip_class + ", not " + child_.chip_class;
  }

  static std::string first(std::initializer_list<std::string> reasons) {
    for (const std::string& r : reasons)
      if (!r.empty()) return r;
    return "";
  }

  const MemoryLevel* memory(const std::string& name) const {
    for (const MemoryLevel& m : child_.memory)
      if (m.name == name) return &m;
    return nullptr;
  }

  // Off the chip: it does not tick with the core.
  static bool is_far(const MemoryLevel& m) {
    return m.managed == Managed::explicit_ && (m.per == "device" || m.per == "host");
  }

  std::string cause(const Path& path, const AnyValue& v) const {
    const std::string& part = path.front();
    if (part == "clocks" && path[2] == "sustained")
      return first({changed("clocks." + path[1] + ".max"), changed("power.cap"), changed_count()});
    if (part == "memory")
      if (const MemoryLevel* m = memory(path[1]))
        return is_far(*m) ? cause_far(*m, path, v) : cause_near(*m, path, v);
    if (part == "power") return path[1] == "cap" ? "" : changed_class();
    if (part == "apis") return v.dimension == Dimension::seconds ? changed_class() : "";
    const bool on_chip = part == "compute" || part == "instructions" || part == "pipes" ||
                         part == "paths" || part == "execution" || part == "tlb";
    if (!on_chip || !is_timed(v)) return "";
    return first({in_ticks(v) ? "" : changed("clocks.core.max"),
                  v.dimension == Dimension::latency ? changed_class() : ""});
  }

  std::string cause_far(const MemoryLevel& m, const Path& path, const AnyValue& v) const {
    const std::string read = "memory." + m.name + ".bandwidth.read";
    const bool by_units =
        path.back() == "sharpness" || path.back() == "per_unit" || path.back() == "reaches";
    if (by_units) return first({changed(read), changed_count()});
    if (!is_timed(v)) return "";
    return first({m.per == "device" ? changed("clocks.memory.max") : "",
                  dotted(path) == read ? "" : changed(read)});
  }

  std::string cause_near(const MemoryLevel& m, const Path& path, const AnyValue& v) const {
    const bool of_size = path[2] == "knee" || path[2] == "cyclic_scan" ||
                         path[2] == "single_use_retention" || path[2] == "reuse_retention" ||
                         path[2] == "ways" || path[2] == "latency";
    const bool automatic = m.managed == Managed::automatic;
    const std::string resized =
        automatic && of_size ? changed("memory." + m.name + ".capacity") : "";
    const bool shared_bandwidth =
        automatic && v.dimension == Dimension::bandwidth && m.per == "device";
    const std::string clock = is_timed(v) && !in_ticks(v) ? changed("clocks.core.max") : "";
    return first({clock, resized, shared_bandwidth ? changed_count() : ""});
  }

  const Profile& parent_;
  const Profile& child_;
  Values before_, after_;
  std::vector<Finding> out_;
};

}  // namespace

std::vector<Finding> doubts_of_inherited(const Profile& parent, const Profile& child,
                                         const std::function<bool(const std::string&)>& given) {
  return Doubts(parent, child).find(given);
}

}  // namespace assay::hwdesc
