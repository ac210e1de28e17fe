// Visits every leaf of a profile with its path: values, words, numbers, choices, word lists. The
// profile may be const or not; then a leaf may change what it is given.
#pragma once

#include <string>
#include <vector>

#include "hwdesc/fields.h"

namespace assay::hwdesc {

// Keys from the root down. A key may hold dots itself (compute `fma.f32`).
using Path = std::vector<std::string>;

inline std::string dotted(const Path& path) {
  std::string out;
  for (const std::string& key : path) out += (out.empty() ? "" : ".") + key;
  return out;
}

// Remarks on a value (method, note), which do not describe the hardware.
inline bool is_remark(const std::string& path) {
  return path.ends_with(".method") || path.ends_with(".note");
}

template <class Leaf>
class Walk {  // invariant: path_ names the place being visited
 public:
  explicit Walk(Leaf& leaf) : leaf_(leaf) {}

  template <class M>
  void operator()(const char* key, M& member, const char*, Need) {
    path_.push_back(key);
    visit(member);
    path_.pop_back();
  }

  template <class Fill>
  void group(const char* key, const char*, Fill&& fill) {
    path_.push_back(key);
    fill(*this);
    path_.pop_back();
  }

 private:
  template <class M>
  void visit(M& member) {
    if constexpr (APart<M>) {
      fields(*this, member);
    } else if constexpr (EntryList<M>) {
      for (auto& entry : member) below(key_of(entry), entry);
    } else if constexpr (NamedTexts<M> || NamedValues<M>) {
      for (auto& [name, item] : member) below(name, item);
    } else {
      leaf_(path_, member);
    }
  }

  template <class M>
  void below(const std::string& key, M& member) {
    path_.push_back(key);
    visit(member);
    path_.pop_back();
  }

  Leaf& leaf_;
  Path path_;
};

// leaf(const Path&, M& member) for every leaf in table order.
template <class P, class Leaf>
void walk(P& profile, Leaf&& leaf) {
  Walk<std::remove_reference_t<Leaf>> visitor(leaf);
  fields(visitor, profile);
}

}  // namespace assay::hwdesc
