#include "support/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <sstream>
#include <unordered_set>

#include "support/utf8.h"

namespace assay::yaml {

namespace {

constexpr size_t kMostErrors = 100;

// Nodes and bytes of a subtree that an alias copies.
struct Weight {
  int64_t nodes = 1;
  int64_t bytes = 0;
  int depth = 1;
};

// A container that is still open.
struct Frame {
  Node node;
  Weight weight;
  YAML::anchor_t anchor = 0;
  std::unordered_set<std::string> keys;
  std::optional<Entry> pending;  // a key whose value has not come yet
  bool skip_value = false;       // the pending key is wrong: drop its value
};

struct Stop {  // thrown to leave yaml-cpp's parser after a fault that ends parsing
  Diag diag;
};

class Builder : public YAML::EventHandler {  // invariant: open_ holds the path from the root down
 public:
  explicit Builder(Document& doc, Diags& diags) : doc_(doc), diags_(diags) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node = make(mark, "?", Node::Kind::scalar);
    if (!open_.empty() && open_.back().pending) {
      node.line = open_.back().pending->line;
      node.col = open_.back().pending->col;
    }
    add(std::move(node), Weight{}, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto found = anchors_.find(anchor);
    if (found == anchors_.end()) stop(mark, "an alias inside the node that it names");
    Weight weight = found->second.second;
    check_room(mark, weight);
    add(found->second.first, weight, 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node = make(mark, tag, Node::Kind::scalar);
    node.quoted = tag == "!";
    node.scalar = value;
    Weight weight;
    weight.bytes = static_cast<int64_t>(value.size());
    check_room(mark, weight);
    add(std::move(node), weight, anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::Kind::sequence);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::Kind::map);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  [[noreturn]] void stop(const YAML::Mark& mark, std::string message, std::string hint = "") const {
    throw Stop{error_at(doc_, mark.line + 1, mark.column + 1, std::move(message), std::move(hint))};
  }

  Node make(const YAML::Mark& mark, const std::string& tag, Node::Kind kind) const {
    if (diags_.size() >= kMostErrors) stop(mark, "too many errors; the rest is not read");
    Node node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.col = mark.column + 1;
    if (tag.size() > 1 && tag[0] == '!') {
      node.tag = tag;
    } else if (tag.size() > 1) {
      diags_.push_back(error_at(doc_, node, "unknown tag '" + tag + "'", "leave it out"));
    }
    return node;
  }

  void check_room(const YAML::Mark& mark, const Weight& w) {
    nodes_ += w.nodes;
    bytes_ += w.bytes;
    if (static_cast<int>(open_.size()) + w.depth > kMaxDepth)
      stop(mark, "nested deeper than " + std::to_string(kMaxDepth) + " levels");
    if (nodes_ > kMaxNodes)
      stop(mark, "more than " + std::to_string(kMaxNodes) + " nodes once aliases are expanded");
    if (bytes_ > static_cast<int64_t>(kMaxBytes))
      stop(mark, "more than " + std::to_string(kMaxBytes >> 20) + " MiB once aliases are expanded");
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            Node::Kind kind) {
    Frame frame;
    frame.node = make(mark, tag, kind);
    frame.anchor = anchor;
    check_room(mark, frame.weight);
    open_.push_back(std::move(frame));
  }

  void close() {
    Frame done = std::move(open_.back());
    open_.pop_back();
    add(std::move(done.node), done.weight, done.anchor);
  }

  void add(Node node, Weight weight, YAML::anchor_t anchor) {
    if (anchor != 0) remember(node, weight, anchor);
    if (open_.empty()) {
      doc_.root = std::move(node);
      return;
    }
    Frame& parent = open_.back();
    parent.weight.nodes += weight.nodes;
    parent.weight.bytes += weight.bytes;
    parent.weight.depth = std::max(parent.weight.depth, weight.depth + 1);
    if (parent.node.kind == Node::Kind::sequence) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.pending) {
      take_key(parent, node);
    } else {
      take_value(parent, std::move(node));
    }
  }

  void remember(const Node& node, const Weight& weight, YAML::anchor_t anchor) {
    YAML::Mark mark;
    mark.line = node.line - 1;
    mark.column = node.col - 1;
    check_room(mark, weight);
    anchors_[anchor] = {node, weight};
  }

  void take_key(Frame& parent, const Node& key) {
    Entry entry;
    entry.key = key.scalar;
    entry.line = key.line;
    entry.col = key.col;
    if (key.kind != Node::Kind::scalar) {
      diags_.push_back(error_at(doc_, key, "a key must be a word, not a list or a map"));
      parent.skip_value = true;
    } else if (!parent.keys.insert(key.scalar).second) {
      const Entry& first = *std::find_if(parent.node.entries.begin(), parent.node.entries.end(),
                                         [&](const Entry& e) { return e.key == key.scalar; });
      diags_.push_back(error_at(doc_, key, "duplicate key '" + key.scalar + "'",
                                "it is first given in line " + std::to_string(first.line)));
      parent.skip_value = true;
    }
    parent.pending = std::move(entry);
  }

  static void take_value(Frame& parent, Node value) {
    if (!parent.skip_value) {
      parent.pending->value = std::move(value);
      parent.node.entries.push_back(std::move(*parent.pending));
    }
    parent.pending.reset();
    parent.skip_value = false;
  }

  Document& doc_;
  Diags& diags_;
  std::vector<Frame> open_;
  std::map<YAML::anchor_t, std::pair<Node, Weight>> anchors_;
  int64_t nodes_ = 0, bytes_ = 0;
};

// Faults of the bytes as UTF-8 text. Stops after a few, since such a file is not text.
void check_text(const Document& doc, Diags& diags) {
  constexpr size_t kMost = 10;
  int line = 1, col = 1;
  bool indent = true;
  for (size_t i = 0; i < doc.text.size() && diags.size() < kMost;) {
    const unsigned char c = static_cast<unsigned char>(doc.text[i]);
    const size_t n = utf8_length(doc.text, i);
    if (n == 0) diags.push_back(error_at(doc, line, col, "not UTF-8"));
    if (c == '\t' && indent)
      diags.push_back(error_at(doc, line, col, "a tab in the indentation", "indent with spaces"));
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F)
      diags.push_back(error_at(doc, line, col, "a control character"));
    const size_t step = std::max<size_t>(n, 1);
    i += step;
    col += static_cast<int>(step);
    if (c != ' ') indent = false;
    if (c == '\n') {
      ++line;
      col = 1;
      indent = true;
    }
  }
}

void read_documents(Document& doc, Diags& diags) {
  std::istringstream in(doc.text);
  Builder builder(doc, diags);
  try {
    YAML::Parser parser(in);
    if (!parser.HandleNextDocument(builder)) {
      diags.push_back(error_at(doc, 1, 1, "the document is empty"));
      return;
    }
    Document rest{doc.file, doc.text, {}};
    Builder ignored(rest, diags);
    if (parser.HandleNextDocument(ignored))
      diags.push_back(error_at(rest, rest.root, "a second document; a file holds one"));
  } catch (const Stop& s) {
    diags.push_back(s.diag);
  } catch (const YAML::Exception& e) {
    const bool placed = !e.mark.is_null();
    diags.push_back(
        error_at(doc, placed ? e.mark.line + 1 : 0, placed ? e.mark.column + 1 : 0, e.msg));
  }
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  for (const Entry& e : entries)
    if (e.key == key) return &e.value;
  return nullptr;
}

Diag error_at(const Document& doc, int line, int col, std::string message, std::string hint) {
  Diag d = error(std::move(message), std::move(hint));
  d.file = doc.file;
  d.line = line;
  d.col = col;
  d.source_line = line_of(doc.text, line);
  return d;
}

Diag error_at(const Document& doc, const Node& node, std::string message, std::string hint) {
  return error_at(doc, node.line, node.col, std::move(message), std::move(hint));
}

Result<Document> parse(std::string_view text, std::string_view file) {
  Document doc;
  doc.file = file;
  if (text.size() > kMaxBytes) {
    Diag d = error("larger than " + std::to_string(kMaxBytes >> 20) + " MiB");
    d.file = file;
    return d;
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  doc.text = text;
  Diags diags;
  check_text(doc, diags);
  if (diags.empty()) read_documents(doc, diags);
  if (!diags.empty()) return diags;
  return doc;
}

namespace {

// Whether `s` reads back as the same string when written plain, also inside a flow map or list.
bool is_plain(std::string_view s) {
  if (s.empty() || s.front() == ' ' || s.back() == ' ' || s.back() == ':') return false;
  if (std::string_view("-?:,[]{}#&*!|>'\"%@`=<").find(s.front()) != std::string_view::npos)
    if (s.front() != '-' || s.size() == 1 || s[1] == ' ' || s[1] == '-') return false;
  for (const char* word : {"~", "null", "Null", "NULL"})
    if (s == word) return false;
  for (size_t i = 0; i < s.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(s[i]);
    if (c < 0x20 || c == 0x7F) return false;
    if (std::string_view(",[]{}?\"\\").find(s[i]) != std::string_view::npos) return false;
    if (s[i] == ':') return false;
    if (s[i] == '#' && i > 0 && s[i - 1] == ' ') return false;
  }
  return s != "...";
}

std::string escaped(char c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    default:
      break;
  }
  const unsigned char u = static_cast<unsigned char>(c);
  if (u >= 0x20 && u != 0x7F) return std::string(1, c);
  const char* digits = "0123456789abcdef";
  return std::string("\\x") + digits[u >> 4] + digits[u & 15];
}

}  // namespace

std::string quote(std::string_view scalar) {
  if (is_plain(scalar)) return std::string(scalar);
  std::string out = "\"";
  for (char c : scalar) out += escaped(c);
  return out + "\"";
}

}  // namespace assay::yaml
