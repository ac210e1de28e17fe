#include "hwdesc/field_tree.h"

#include <algorithm>
#include <array>

#include "hwdesc/fields.h"
#include "hwdesc/words.h"

namespace assay::hwdesc {

namespace {

template <class T>
inline constexpr const char* kEntryKey = "<name>";
template <>
inline constexpr const char* kEntryKey<TlbLevel> = "<depth>";
template <>
inline constexpr const char* kEntryKey<ComputeOp> = "<op.dtype>";
template <>
inline constexpr const char* kEntryKey<Instruction> = "<use>";
template <>
inline constexpr const char* kEntryKey<ShapePoint> = "<units>";
template <>
inline constexpr const char* kEntryKey<WideBarrier> = "<threads>";
template <>
inline constexpr const char* kEntryKey<BarrierPoint> = "<groups>";

template <class M>
consteval FieldKind kind_of() {
  if constexpr (AValue<M>)
    return FieldKind::value;
  else if constexpr (AWord<M>)
    return FieldKind::word;
  else if constexpr (ANumber<M>)
    return FieldKind::number;
  else if constexpr (std::same_as<M, Fact>)
    return FieldKind::fact;
  else if constexpr (AChoice<M>)
    return FieldKind::choice;
  else if constexpr (WordList<M>)
    return FieldKind::words;
  else if constexpr (NamedTexts<M>)
    return FieldKind::texts;
  else if constexpr (NamedValues<M>)
    return FieldKind::values;
  else if constexpr (!EntryList<M>)
    return FieldKind::part;
  else if constexpr (kMapEntry<typename ListTraits<M>::Entry>)
    return FieldKind::named;
  else
    return FieldKind::entries;
}

class Describe {  // visitor: one node per field
 public:
  explicit Describe(std::vector<FieldNode>& out) : out_(out) {}

  template <class M>
  void operator()(const char* key, M& member, const char* doc, Need need) {
    FieldNode node;
    node.key = key;
    node.doc = doc;
    node.kind = kind_of<M>();
    node.required = need == Need::required;
    Describe inner(node.fields);
    if constexpr (AValue<M>) {
      node.dimension = kDimension<typename ValueTraits<M>::Quantity>;
    } else if constexpr (NamedValues<M>) {
      node.dimension =
          kDimension<typename ValueTraits<typename M::value_type::second_type>::Quantity>;
    } else if constexpr (AChoice<M>) {
      node.choices = words<M>();
    } else if constexpr (EntryList<M>) {
      using Entry = typename ListTraits<M>::Entry;
      Entry entry;
      fields(inner, entry);
      node.entry_key = kEntryKey<Entry>;
      if (kBareKey<Entry> != nullptr) node.bare_key = kBareKey<Entry>;
      mark_names(node);
    } else if constexpr (APart<M>) {
      fields(inner, member);
      if (kBareKey<M> != nullptr) node.bare_key = kBareKey<M>;
    }
    out_.push_back(std::move(node));
  }

  template <class Fill>
  void group(const char* key, const char* doc, Fill&& fill) {
    FieldNode node;
    node.key = key;
    node.doc = doc;
    Describe inner(node.fields);
    fill(inner);
    out_.push_back(std::move(node));
  }

 private:
  static void mark_names(FieldNode& node) {
    constexpr std::array names = {"name", "op", "dtype", "use", "units"};
    for (FieldNode& f : node.fields)
      f.names_entry = f.required && std::find(names.begin(), names.end(), f.key) != names.end();
  }

  std::vector<FieldNode>& out_;
};

}  // namespace

std::vector<FieldNode> field_tree() {
  std::vector<FieldNode> out;
  Describe describe(out);
  Profile profile;
  fields(describe, profile);
  return out;
}

}  // namespace assay::hwdesc
