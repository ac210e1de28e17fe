#include "hwdesc/print.h"

#include "hwdesc/any_value.h"
#include "hwdesc/canonical.h"
#include "hwdesc/fields.h"
#include "hwdesc/words.h"
#include "support/hash.h"
#include "support/yaml.h"

namespace assay::hwdesc {

namespace {

std::string text_of(const Quantity& q, Dimension d) { return print_quantity(q.v, q.clock, d); }

// A bare quantity when nothing else is known of the value, else a record.
yaml::Node value_node(const AnyValue& v) {
  const std::string text = v.value ? text_of(*v.value, v.dimension) : "unknown";
  AnyValue bare;
  bare.dimension = v.dimension;
  bare.value = v.value;
  if (v == bare) return yaml::scalar(text);
  yaml::Node out = yaml::map();
  put(out, "value", yaml::scalar(text));
  if (v.low) put(out, "low", yaml::scalar(text_of(*v.low, v.dimension)));
  if (v.high) put(out, "high", yaml::scalar(text_of(*v.high, v.dimension)));
  if (v.n) put(out, "n", yaml::scalar(std::to_string(*v.n)));
  if (v.source) put(out, "source", yaml::scalar(word_of(*v.source)));
  if (!v.method.empty()) put(out, "method", yaml::scalar(v.method));
  if (!v.ref.empty()) put(out, "ref", yaml::scalar(v.ref));
  if (!v.note.empty()) put(out, "note", yaml::scalar(v.note));
  return out;
}

template <class M>
yaml::Node node_of(const M& member);

class FieldWriter {  // visitor: appends what differs from its default to a YAML map
 public:
  explicit FieldWriter(yaml::Node& map) : map_(map) {}

  template <class M>
  void operator()(const char* key, const M& member, const char*, Need need) {
    if (need != Need::optional || member != M{}) put(map_, key, node_of(member));
  }

  template <class Fill>
  void group(const char* key, const char*, Fill&& fill) {
    yaml::Node inner = yaml::map();
    FieldWriter writer(inner);
    fill(writer);
    if (!inner.entries.empty()) put(map_, key, std::move(inner));
  }

 private:
  yaml::Node& map_;
};

template <class T>
yaml::Node part_node(const T& part) {
  yaml::Node out = yaml::map();
  FieldWriter writer(out);
  fields(writer, part);
  if constexpr (kBareKey<T> != nullptr) {
    const bool bare = out.entries.size() == 1 && out.entries[0].key == kBareKey<T>;
    if (bare && out.entries[0].value.kind == yaml::Node::Kind::scalar) return out.entries[0].value;
  }
  return out;
}

template <class List>
yaml::Node list_node(const List& list) {
  yaml::Node out = yaml::sequence();
  for (const auto& entry : list) out.items.push_back(node_of(entry));
  return out;
}

template <class List>
yaml::Node map_node(const List& list) {
  yaml::Node out = yaml::map();
  for (const auto& entry : list) {
    if constexpr (requires { entry.first; })
      put(out, entry.first, node_of(entry.second));
    else
      put(out, entry.name, node_of(entry));
  }
  return out;
}

template <class M>
yaml::Node node_of(const M& member) {
  if constexpr (AValue<M>)
    return value_node(to_any(member));
  else if constexpr (AWord<M>)
    return yaml::scalar(member);
  else if constexpr (ANumber<M>)
    return yaml::scalar(std::to_string(member));
  else if constexpr (AChoice<M>)
    return yaml::scalar(word_of(member));
  else if constexpr (NamedTexts<M> || NamedValues<M>)
    return map_node(member);
  else if constexpr (WordList<M>)
    return list_node(member);
  else if constexpr (!EntryList<M>)
    return part_node(member);
  else if constexpr (kMapEntry<typename ListTraits<M>::Entry>)
    return map_node(member);
  else
    return list_node(member);
}

}  // namespace

std::string print_profile(const Profile& profile) {
  yaml::Node root = yaml::map();
  put(root, "schema", yaml::scalar("assay/profile/1"));
  FieldWriter writer(root);
  const Profile ordered = canonical(profile);
  fields(writer, ordered);
  return yaml::print(root);
}

std::string hash_of(const Profile& profile) { return hash_hex(print_profile(profile)); }

}  // namespace assay::hwdesc
