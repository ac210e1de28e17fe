#include "hwdesc/merge.h"

#include <algorithm>
#include <map>
#include <set>

#include "hwdesc/any_value.h"
#include "hwdesc/walk.h"
#include "hwdesc/words.h"

namespace assay::hwdesc {
namespace {

// Base of visitors that track their place: path_ names the field that Self::visit is called for.
template <class Self>
class AlongPaths {
 public:
  template <class M>
  void operator()(const char* key, M& member, const char*, Need) {
    below(key, member);
  }

  template <class Fill>
  void group(const char* key, const char*, Fill&& fill) {
    path_.push_back(key);
    fill(static_cast<Self&>(*this));
    path_.pop_back();
  }

 protected:
  template <class M>
  void below(const std::string& key, M& member) {
    path_.push_back(key);
    static_cast<Self&>(*this).visit(member);
    path_.pop_back();
  }

  Path path_;
};

// Pointers to all members of a profile by path, lists and entries included. The field table gives
// each path one type.
class Places : public AlongPaths<Places> {
 public:
  explicit Places(const Profile& profile) { fields(*this, profile); }

  template <class M>
  const M* find(const std::string& path) const {
    const auto it = at_.find(path);
    return it == at_.end() ? nullptr : static_cast<const M*>(it->second);
  }

  template <class M>
  void visit(const M& member) {
    at_[dotted(path_)] = &member;
    if constexpr (APart<M>)
      fields(*this, member);
    else if constexpr (EntryList<M>)
      for (const auto& entry : member) below(key_of(entry), entry);
    else if constexpr (NamedTexts<M> || NamedValues<M>)
      for (const auto& [name, item] : member) below(name, item);
  }

 private:
  std::map<std::string, const void*> at_;
};

// Whether a member says nothing. For choices only `unknown` does: a default such as the first
// choice is a statement.
template <class M>
bool silent(const M& member) {
  if constexpr (AChoice<M>)
    return word_of(member) == "unknown";
  else
    return member == M{};
}

template <class M>
std::string leaf_text(const M& member) {
  if constexpr (AWord<M>)
    return member;
  else if constexpr (ANumber<M>)
    return std::to_string(member);
  else if constexpr (AChoice<M>)
    return word_of(member);
  else
    return "";
}

bool belongs_to_structure(const std::string& path) {
  return path.starts_with("topology.") || path.starts_with("execution.") ||
         path.starts_with("memory.");
}

bool is_label(const std::string& path) {
  return path == "name" || path == "source" || path.starts_with("identity.") ||
         path.starts_with("apis.") || is_remark(path);
}

constexpr const char* kStyle = "execution.lanes.style";  // meaningless without lane modes

// Counts and sizes whose intervals do not overlap.
bool disagree(const AnyValue& a, const AnyValue& b) {
  if (a.dimension != Dimension::count && a.dimension != Dimension::bytes) return false;
  const double low = std::max(a.low.value_or(*a.value).v, b.low.value_or(*b.value).v);
  const double high = std::min(a.high.value_or(*a.value).v, b.high.value_or(*b.value).v);
  return low > high;
}

// Knees, hit curves and outstanding misses are measured, so they may differ by api. An api may also
// expose less of an explicit memory than there is. A cache's capacity must agree.
bool may_depend_on_api(const std::string& path, const Profile& profile) {
  for (const char* shape : {".knee.", ".cyclic_scan.", ".outstanding."})
    if (path.find(shape) != std::string::npos) return true;
  return std::any_of(profile.memory.begin(), profile.memory.end(), [&](const MemoryLevel& m) {
    return m.managed == Managed::explicit_ && path == "memory." + m.name + ".capacity";
  });
}

class Merger : public AlongPaths<Merger> {  // visits the first profile
 public:
  Merger(const Profile& second, Origin first_source, std::optional<Prefer> prefer, Merged& out)
      : second_(second), places_(second), first_source_(first_source), prefer_(prefer), out_(out) {}

  template <class M>
  void visit(M& member) {
    const std::string path = dotted(path_);
    const M* other = places_.template find<M>(path);
    if constexpr (EntryList<M>) {
      if (other != nullptr) add_entries(path, member, *other);
      for (auto& entry : member) below(key_of(entry), entry);
    } else if constexpr (APart<M>) {
      fields(*this, member);
    } else if (other == nullptr) {
      return;
    } else if constexpr (NamedTexts<M> || NamedValues<M>) {
      add_named(path, member, *other);
    } else {
      leaf(path, member, *other);
    }
  }

 private:
  bool second_wins() const { return prefer_ == Prefer::second; }

  // Makes the second's default origin explicit where the first has another default.
  template <class Q>
  Value<Q> carried(Value<Q> v) const {
    if (v.known() && !v.source && second_.source != first_source_) v.source = second_.source;
    return v;
  }

  template <class M>
  void leaf(const std::string& path, M& mine, const M& theirs) {
    if (mine == theirs || silent(theirs) ||
        (path == kStyle && second_.execution.lanes.modes.empty()))
      return;
    if constexpr (AValue<M>) {
      value(path, mine, theirs);
    } else if constexpr (WordList<M>) {
      for (const std::string& word : theirs)
        if (std::find(mine.begin(), mine.end(), word) == mine.end()) mine.push_back(word);
    } else if (silent(mine) || (path == kStyle && out_.profile.execution.lanes.modes.empty())) {
      take(path, mine, theirs);
    } else if (!is_label(path)) {
      conflict({path, leaf_text(mine), leaf_text(theirs), "", ""}, mine, theirs);
    }
  }

  template <class Q>
  void value(const std::string& path, Value<Q>& mine, const Value<Q>& theirs) {
    if (!theirs.known()) return;
    if (!mine.known()) return take(path, mine, carried(theirs));
    if (!belongs_to_structure(path) || may_depend_on_api(path, second_) ||
        !disagree(to_any(mine), to_any(theirs)))
      return;
    conflict({path, text_of(*mine.value), text_of(*theirs.value),
              word_of(mine.source.value_or(first_source_)),
              word_of(theirs.source.value_or(second_.source))},
             mine, carried(theirs));
  }

  template <class M>
  void take(const std::string& path, M& mine, const M& theirs) {
    mine = theirs;
    out_.added.push_back(path);
  }

  template <class M>
  void conflict(Conflict c, M& mine, const M& theirs) {
    out_.conflicts.push_back(std::move(c));
    if (second_wins()) mine = theirs;
  }

  template <class M>
  void add_named(const std::string& path, M& mine, const M& theirs) {
    for (const auto& [name, item] : theirs) {
      const auto it = std::find_if(mine.begin(), mine.end(),
                                   [&name = name](const auto& m) { return m.first == name; });
      if (it != mine.end()) {
        if (!path.starts_with("identity")) leaf(path + "." + name, it->second, item);
        continue;
      }
      mine.push_back({name, item});
      if constexpr (NamedValues<M>) mine.back().second = carried(item);
      if (!path.starts_with("identity") && !path.starts_with("references"))
        out_.added.push_back(path + "." + name);
    }
  }

  // Whether an entry that one profile lacks is a conflict: caches and topology levels are, unless
  // the list is empty, since a profile lists all of them or none.
  template <class Entry>
  bool structural(const Entry& entry, bool list_is_empty) const {
    if constexpr (std::same_as<Entry, TopologyLevel>)
      return !list_is_empty;
    else if constexpr (std::same_as<Entry, MemoryLevel>)
      return !list_is_empty && entry.managed == Managed::automatic;
    else
      return false;
  }

  // Memory and topology are ordered: an added entry follows its predecessor of the second profile.
  template <class Entry>
  static constexpr bool kOrdered =
      std::same_as<Entry, MemoryLevel> || std::same_as<Entry, TopologyLevel>;

  template <class List>
  void add_entries(const std::string& path, List& mine, const List& theirs) {
    const bool was_empty = mine.empty();
    size_t behind = kOrdered<typename List::value_type> ? 0 : mine.size();
    for (const auto& entry : theirs) {
      const std::string key = key_of(entry);
      const auto it =
          std::find_if(mine.begin(), mine.end(), [&](const auto& m) { return key_of(m) == key; });
      if (it != mine.end()) {
        if (kOrdered<typename List::value_type>)
          behind = static_cast<size_t>(it - mine.begin()) + 1;
        continue;
      }
      if (key.empty()) continue;  // without a key it can not be matched
      const std::string place = path + "." + key;
      const bool disputed = structural(entry, was_empty);
      if (disputed) out_.conflicts.push_back({place, "-", "an entry", "", word_of(second_.source)});
      if (disputed && !second_wins()) continue;
      auto added = entry;
      with_origin(added);
      mine.insert(mine.begin() + static_cast<std::ptrdiff_t>(behind++), std::move(added));
      if (!disputed) out_.added.push_back(place);
    }
    dispute_absent(path, mine, theirs);
  }

  // Conflicts about entries that the second lacks.
  template <class List>
  void dispute_absent(const std::string& path, List& mine, const List& theirs) {
    const auto absent = [&](const auto& entry) {
      const auto same = [&](const auto& other) { return key_of(other) == key_of(entry); };
      return structural(entry, theirs.empty()) && std::none_of(theirs.begin(), theirs.end(), same);
    };
    for (const auto& entry : mine)
      if (absent(entry))
        out_.conflicts.push_back(
            {path + "." + key_of(entry), "an entry", "-", word_of(first_source_), ""});
    if (second_wins()) std::erase_if(mine, absent);
  }

  // Makes the origin of an added entry's values explicit.
  template <class Entry>
  void with_origin(Entry& entry) const {
    const auto leaf = [&](const Path&, auto& member) {
      if constexpr (AValue<std::remove_cvref_t<decltype(member)>>) member = carried(member);
    };
    Walk visitor(leaf);
    fields(visitor, entry);
  }

  const Profile& second_;
  const Places places_;
  Origin first_source_;
  std::optional<Prefer> prefer_;
  Merged& out_;
};

bool has_reference(const Profile& p, const std::string& key) {
  return std::any_of(p.references.begin(), p.references.end(),
                     [&](const NamedText& r) { return r.first == key; });
}

template <class See>
void each_citation(Profile& p, See&& see) {
  const auto leaf = [&](const Path&, auto& member) {
    if constexpr (AValue<std::remove_cvref_t<decltype(member)>>) see(member.ref);
  };
  Walk visitor(leaf);
  fields(visitor, p);
}

// Renames keys of the second's references that name another source in the first.
Profile with_keys_beside(Profile second, const Profile& first) {
  std::map<std::string, std::string> keys;
  for (auto& [key, text] : second.references) {
    if (!has_reference(first, key) || std::find(first.references.begin(), first.references.end(),
                                                NamedText{key, text}) != first.references.end())
      continue;
    int n = 2;
    while (has_reference(first, key + std::to_string(n)) ||
           has_reference(second, key + std::to_string(n)))
      ++n;
    keys[key] = key + std::to_string(n);
    key = keys[key];
  }
  each_citation(second, [&](std::string& ref) {
    if (const auto it = keys.find(ref); it != keys.end()) ref = it->second;
  });
  return second;
}

void drop_uncited(Profile& merged, const Profile& first) {
  std::set<std::string> cited;
  each_citation(merged, [&](const std::string& ref) { cited.insert(ref); });
  std::erase_if(merged.references, [&](const NamedText& r) {
    return !cited.contains(r.first) && !has_reference(first, r.first);
  });
}

// Removes memories that were not merged from paths, and paths that have no memory left.
void drop_dangling_paths(Merged& out) {
  const auto exists = [&](const std::string& memory) {
    return std::any_of(out.profile.memory.begin(), out.profile.memory.end(),
                       [&](const MemoryLevel& m) { return m.name == memory; });
  };
  std::erase_if(out.profile.paths, [&](auto& path) {
    const bool had_any = !path.through.empty();
    std::erase_if(path.through, [&](const std::string& memory) { return !exists(memory); });
    if (!had_any || !path.through.empty()) return false;
    std::erase(out.added, "paths." + key_of(path));
    return true;
  });
}

}  // namespace

Merged merge(const Profile& first, const Profile& second, std::optional<Prefer> prefer) {
  Merged out{first, {}, {}};
  const Profile other = with_keys_beside(second, first);
  Merger merger(other, first.source, prefer, out);
  fields(merger, out.profile);
  drop_dangling_paths(out);
  drop_uncited(out.profile, first);
  return out;
}

}  // namespace assay::hwdesc
