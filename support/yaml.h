// YAML text -> a tree with places, strict. Duplicate keys, tabs, unknown tags, and too deep or too
// many nodes are errors. Nodes that aliases expand to count, so a document can not grow without
// bound. Built on yaml-cpp's event handler, since its Node drops duplicate keys silently.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace assay::yaml {

inline constexpr int kMaxDepth = 64;
inline constexpr int kMaxNodes = 2'000'000;
inline constexpr size_t kMaxBytes = size_t{64} << 20;

struct Entry;

struct Node {
  enum class Kind { scalar, sequence, map };
  Kind kind = Kind::scalar;
  int line = 0, col = 0;       // 1-based place of the node's first character
  std::string scalar;          // kind == scalar
  bool quoted = false;         // the scalar stood in quotes
  std::string tag;             // "" or a local tag such as "!remove"
  std::vector<Node> items;     // kind == sequence
  std::vector<Entry> entries;  // kind == map, in file order, keys distinct

  const Node* find(std::string_view key) const;  // map entry, or nullptr
};

struct Entry {
  std::string key;
  int line = 0, col = 0;  // place of the key
  Node value;
};

struct Document {
  std::string file;  // for messages
  std::string text;  // for the source line of messages
  Node root;
};

// Errors: every syntax error with its place. `file` is only a name for messages; no file is opened.
Result<Document> parse(std::string_view text, std::string_view file);

// An error at a place of the document, with the source line filled in.
Diag error_at(const Document& doc, int line, int col, std::string message, std::string hint = "");
Diag error_at(const Document& doc, const Node& node, std::string message, std::string hint = "");

// A scalar as YAML text: plain when that reads back as the same string, else double-quoted.
std::string quote(std::string_view scalar);

// A tree as YAML text. The root and its children are in block style; deeper nodes are in flow style
// ({a: 1, b: 2}) where that fits in `width` columns. Scalars and tags read back unchanged; places
// and quotes are not kept.
std::string print(const Node& root, size_t width = 118);

// Nodes for printing.
Node scalar(std::string text);
Node map();
Node sequence();
void put(Node& map, std::string key, Node value);

}  // namespace assay::yaml
