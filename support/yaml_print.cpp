#include <utility>

#include "support/yaml.h"

namespace assay::yaml {

namespace {

std::string flow(const Node& node);

std::string flow_content(const Node& node) {
  if (node.kind == Node::Kind::scalar)
    return node.tag.empty() || !node.scalar.empty() ? quote(node.scalar) : "";
  std::string out;
  if (node.kind == Node::Kind::sequence) {
    for (const Node& item : node.items) out += (out.empty() ? "" : ", ") + flow(item);
    return "[" + out + "]";
  }
  for (const Entry& e : node.entries)
    out += (out.empty() ? "" : ", ") + quote(e.key) + ": " + flow(e.value);
  return "{" + out + "}";
}

// In flow style, on one line.
std::string flow(const Node& node) {
  const std::string content = flow_content(node);
  if (node.tag.empty()) return content;
  return content.empty() ? node.tag : node.tag + " " + content;
}

bool is_leaf(const Node& n) {
  return n.kind == Node::Kind::scalar || (n.items.empty() && n.entries.empty());
}

class Printer {  // invariant: out_ ends where the next text belongs
 public:
  explicit Printer(size_t width) : width_(width) {}

  // Lines of a non-empty map or sequence; the first starts at the cursor when `inline_first`.
  void block(const Node& node, size_t indent, bool inline_first) {
    bool here = inline_first;
    auto begin = [&] {
      if (!here) out_ += std::string(indent, ' ');
      here = false;
    };
    for (const Entry& e : node.entries) {
      begin();
      const std::string key = quote(e.key) + ":";
      out_ += key;
      child(e.value, indent, indent + key.size() + 1, false);
    }
    for (const Node& item : node.items) {
      begin();
      out_ += "-";
      child(item, indent, indent + 2, true);
    }
  }

  std::string take() { return std::move(out_); }

 private:
  // What follows `key:` or `-`; `used` columns are taken.
  void child(const Node& node, size_t indent, size_t used, bool in_list) {
    const bool top = indent == 0 && !in_list;
    if (is_leaf(node) || !node.tag.empty() || (!top && fits(node, used))) {
      const std::string text = flow(node);
      out_ += text.empty() ? "\n" : " " + text + "\n";
      return;
    }
    if (in_list && node.kind == Node::Kind::map) {
      out_ += " ";
      return block(node, indent + 2, true);
    }
    out_ += "\n";
    block(node, indent + 2, false);
  }

  bool fits(const Node& node, size_t used) const {
    const std::string text = flow(node);
    return used + text.size() <= width_;
  }

  size_t width_;
  std::string out_;
};

}  // namespace

std::string print(const Node& root, size_t width) {
  if (is_leaf(root) || !root.tag.empty()) return flow(root) + "\n";
  Printer printer(width);
  printer.block(root, 0, false);
  return printer.take();
}

Node scalar(std::string text) {
  Node node;
  node.scalar = std::move(text);
  return node;
}

Node map() {
  Node node;
  node.kind = Node::Kind::map;
  return node;
}

Node sequence() {
  Node node;
  node.kind = Node::Kind::sequence;
  return node;
}

void put(Node& map, std::string key, Node value) {
  map.entries.push_back({std::move(key), 0, 0, std::move(value)});
}

}  // namespace assay::yaml
