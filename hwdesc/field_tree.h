// The field table as data, for the schema and the reference page. One node per field in table
// order; fields of entries and parts are its children.
#pragma once

#include <string>
#include <vector>

#include "support/quantity.h"

namespace assay::hwdesc {

enum class FieldKind {
  value,  // a quantity or a record {value, ...}
  word,
  number,   // a plain whole number
  choice,   // one of `words`
  fact,     // true, false or unknown
  words,    // a list of words
  texts,    // a map: name to text
  values,   // a map: name to value
  part,     // a map with `fields`
  entries,  // a list of maps with `fields`, found by `key`
  named,    // a map: name to a map with `fields`
};

struct FieldNode {
  std::string key, doc;
  FieldKind kind = FieldKind::part;
  bool required = false;     // an entry without it is an error, unless a parent gives it
  bool names_entry = false;  // of entries: part of what they are found by
  Dimension dimension = Dimension::count;  // of `value` and `values`
  std::vector<std::string> choices;
  std::string entry_key;  // of `entries` and `named`: what stands for the entry in a path
  std::string bare_key;   // of `part` and `named`: the field that a bare quantity or word stands
                          // for; empty: none
  std::vector<FieldNode> fields;
};

std::vector<FieldNode> field_tree();

}  // namespace assay::hwdesc
