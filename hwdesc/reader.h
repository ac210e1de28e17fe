// Reads a YAML node into a profile struct, driven by the field table. `extends` reads into the
// parent's struct: fields given replace, entries of lists merge by key, `!remove` deletes. All
// faults are collected with their places.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "hwdesc/any_value.h"
#include "hwdesc/fields.h"
#include "hwdesc/words.h"
#include "support/yaml.h"

namespace assay::hwdesc {

inline constexpr size_t kMaxEntries = 4096;  // of one list

// Big and little cores are the usual reason for a second level of one name, or of none that is
// unit.
inline constexpr const char* kTopologyNests =
    "levels nest from outside in, so a chip has units of one kind: describe its fast units in one "
    "profile, the others in another";
inline constexpr size_t kMaxErrors = 100;  // of one file

struct Place {
  size_t document = 0;  // index into the documents read so far
  int line = 0, col = 0;
};

struct ReadContext {
  const yaml::Document& doc;
  size_t document = 0;
  Diags& diags;
  std::map<std::string, Place>& places;  // by dotted path; the last definition
  void complain(const yaml::Node& at, std::string message, std::string hint = "");
  void complain(int line, int col, std::string message, std::string hint = "");
};

std::string join_path(const std::string& path, const std::string& key);
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);
// The hint for a key that the map at `path` does not have, for a word that `field` does not have.
std::string hint_for_key(std::string_view path, std::string_view key,
                         const std::vector<std::string>& known);
std::string hint_for_word(std::string_view field, std::string_view word,
                          const std::vector<std::string>& known);

// Each reads one kind of node; false after a complaint.
bool is_removal(ReadContext& ctx, const yaml::Node& node);  // complains about other tags
bool expect(ReadContext& ctx, const yaml::Node& node, yaml::Node::Kind kind,
            const std::string& path);
bool read_word(ReadContext& ctx, const yaml::Node& node, std::string& out, const std::string& path);
bool read_integer(ReadContext& ctx, const yaml::Node& node, int64_t& out, const std::string& path);
AnyValue read_any(ReadContext& ctx, const yaml::Node& node, Dimension d, const std::string& path);
void read_words(ReadContext& ctx, const yaml::Node& node, std::vector<std::string>& out,
                const std::string& path);

struct Reset {  // visitor: every field back to its default
  template <class M>
  void operator()(const char*, M& member, const char*, Need) {
    member = M{};
  }
  template <class Fill>
  void group(const char*, const char*, Fill&& fill) {
    fill(*this);
  }
};

template <class M>
void read_node(ReadContext& ctx, const yaml::Node& node, M& member, const std::string& path);

class FieldReader {  // visitor: the keys of one YAML map
 public:
  FieldReader(ReadContext& ctx, const yaml::Node& map, std::string path)
      : ctx_(ctx), map_(map), path_(std::move(path)) {}

  template <class M>
  void operator()(const char* key, M& member, const char* doc, Need need) {
    known_.push_back(key);
    if (const yaml::Node* node = map_.find(key))
      read_node(ctx_, *node, member, join_path(path_, key));
    else if (need == Need::required && member == M{})
      missing(key, doc);
  }

  template <class Fill>
  void group(const char* key, const char*, Fill&& fill) {
    known_.push_back(key);
    const yaml::Node* node = map_.find(key);
    if (node == nullptr) return;
    const std::string path = join_path(path_, key);
    Reset reset;
    if (is_removal(ctx_, *node)) return fill(reset);
    if (!expect(ctx_, *node, yaml::Node::Kind::map, path)) return;
    FieldReader inner(ctx_, *node, path);
    fill(inner);
    inner.finish();
  }

  void also_known(std::string key) { known_.push_back(std::move(key)); }
  void finish();  // complains about the keys that nobody asked for

 private:
  void missing(const char* key, const char* doc);

  ReadContext& ctx_;
  const yaml::Node& map_;
  std::string path_;
  std::vector<std::string> known_;
};

template <class T>
void read_part(ReadContext& ctx, const yaml::Node& node, T& part, const std::string& path) {
  if constexpr (kBareKey<T> != nullptr) {
    if (node.kind == yaml::Node::Kind::scalar) {
      yaml::Node map;
      map.kind = yaml::Node::Kind::map;
      map.line = node.line;
      map.col = node.col;
      map.entries.push_back({kBareKey<T>, node.line, node.col, node});
      return read_part(ctx, map, part, path);
    }
  }
  if (!expect(ctx, node, yaml::Node::Kind::map, path)) return;
  FieldReader reader(ctx, node, path);
  fields(reader, part);
  reader.finish();
}

template <class List>
auto find_entry(List& list, const std::string& key) {
  return std::find_if(list.begin(), list.end(), [&](const auto& e) {
    if constexpr (requires { e.first; })
      return e.first == key;
    else
      return key_of(e) == key;
  });
}

// `name: item` pairs: {mma: 1200 MHz}, references, clocks, apis.
template <class List>
void read_map(ReadContext& ctx, const yaml::Node& node, List& list, const std::string& path) {
  if (!expect(ctx, node, yaml::Node::Kind::map, path)) return;
  if (node.entries.size() > kMaxEntries) return ctx.complain(node, path + ": too many entries");
  for (const yaml::Entry& e : node.entries) {
    auto found = find_entry(list, e.key);
    if (e.value.tag == "!remove") {
      if (found == list.end())
        ctx.complain(e.value, path + ": no '" + e.key + "' to remove");
      else
        list.erase(found);
      continue;
    }
    if (found == list.end()) {
      list.emplace_back();
      found = list.end() - 1;
    }
    if constexpr (requires { found->first; }) {
      found->first = e.key;
      read_node(ctx, e.value, found->second, join_path(path, e.key));
    } else {
      found->name = e.key;
      read_node(ctx, e.value, *found, join_path(path, e.key));
    }
  }
}

// The key of an entry, read without complaining.
template <class T>
std::string key_in(const ReadContext& ctx, const yaml::Node& item) {
  if (item.kind == yaml::Node::Kind::scalar) return item.scalar;
  T entry;
  Diags diags;
  std::map<std::string, Place> places;
  ReadContext silent{ctx.doc, ctx.document, diags, places};
  read_part(silent, item, entry, "");
  return key_of(entry);
}

template <class T>
void read_list(ReadContext& ctx, const yaml::Node& node, std::vector<T>& list,
               const std::string& path) {
  if (!expect(ctx, node, yaml::Node::Kind::sequence, path)) return;
  if (node.items.size() > kMaxEntries) return ctx.complain(node, path + ": too many entries");
  std::set<std::string> seen;
  for (const yaml::Node& item : node.items) {
    const std::string key = key_in<T>(ctx, item);
    auto found = find_entry(list, key);
    if (is_removal(ctx, item)) {
      if (found == list.end())
        ctx.complain(item, path + ": no '" + key + "' to remove");
      else
        list.erase(found);
    } else if (!key.empty() && !seen.insert(key).second) {
      ctx.complain(item, path + ": duplicate entry '" + key + "'",
                   path == "topology" ? kTopologyNests : "");
    } else {
      if (found == list.end() || key.empty()) found = list.insert(list.end(), T{});
      const std::string here = join_path(path, key);
      ctx.places[here] = {ctx.document, item.line, item.col};
      read_part(ctx, item, *found, here);
    }
  }
}

template <class E>
void read_choice(ReadContext& ctx, const yaml::Node& node, E& out, const std::string& path) {
  std::string word;
  if (!read_word(ctx, node, word, path)) return;
  const auto e = from_word<E>(word);
  const std::string field = std::same_as<E, Fact> ? "fact" : path.substr(path.rfind('.') + 1);
  if (e)
    out = *e;
  else
    ctx.complain(node, path + ": '" + word + "' is not expected",
                 hint_for_word(field, word, words<E>()));
}

template <class M>
void read_node(ReadContext& ctx, const yaml::Node& node, M& member, const std::string& path) {
  ctx.places[path] = {ctx.document, node.line, node.col};
  if (is_removal(ctx, node)) {
    member = M{};
    return;
  }
  if constexpr (AValue<M>) {
    member = from_any<typename ValueTraits<M>::Quantity>(
        read_any(ctx, node, kDimension<typename ValueTraits<M>::Quantity>, path));
  } else if constexpr (AWord<M>) {
    read_word(ctx, node, member, path);
  } else if constexpr (ANumber<M>) {
    int64_t n = 0;
    if (read_integer(ctx, node, n, path)) member = static_cast<M>(n);
  } else if constexpr (AChoice<M>) {
    read_choice(ctx, node, member, path);
  } else if constexpr (WordList<M>) {
    read_words(ctx, node, member, path);
  } else if constexpr (NamedTexts<M> || NamedValues<M>) {
    read_map(ctx, node, member, path);
  } else if constexpr (EntryList<M>) {
    if constexpr (kMapEntry<typename ListTraits<M>::Entry>)
      read_map(ctx, node, member, path);
    else
      read_list(ctx, node, member, path);
  } else {
    read_part(ctx, node, member, path);
  }
}

}  // namespace assay::hwdesc
