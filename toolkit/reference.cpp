#include "toolkit/reference.h"

#include <algorithm>
#include <sstream>

#include "support/files/files.h"
#include "support/quantity.h"
#include "support/yaml.h"

namespace assay::toolkit {
namespace {

using yaml::Node;

class IndexReader {
 public:
  IndexReader(const yaml::Document& doc, std::string folder)
      : doc_(doc), folder_(std::move(folder)) {}

  Result<Reference> read() {
    for (const yaml::Entry& e : doc_.root.entries) {
      if (e.key == "tables")
        for (const Node& n : e.value.items) table(n);
      else if (e.key == "bars")
        for (const Node& n : e.value.items) bar(n);
      else if (e.key == "schema" && e.value.scalar != "assay/reference/1")
        fail(e.value, "schema `" + e.value.scalar + "`", "expected assay/reference/1");
      else if (e.key != "schema" && e.key != "notes" && e.key != "sources")
        fail(e.value, "unknown key `" + e.key + "`", "keys: schema, notes, sources, tables, bars");
    }
    for (const ReferenceTable& t : out_.tables)
      if (std::none_of(out_.tables.begin(), out_.tables.end(),
                       [&](const ReferenceTable& o) { return o.file == t.baseline; }))
        fail(doc_.root, "baseline `" + t.baseline + "` is no table");
    if (!diags_.empty()) return diags_;
    return std::move(out_);
  }

 private:
  void fail(const Node& n, std::string message, std::string hint = "") {
    diags_.push_back(yaml::error_at(doc_, n, std::move(message), std::move(hint)));
  }

  void check_keys(const Node& n, const std::vector<std::string_view>& keys) {
    for (const yaml::Entry& e : n.entries)
      if (std::find(keys.begin(), keys.end(), e.key) == keys.end())
        fail(e.value, "unknown key `" + e.key + "`");
  }

  std::string text(const Node& n, const char* key) {
    const Node* found = n.find(key);
    if (found == nullptr) fail(n, std::string("`") + key + "` is missing");
    return found == nullptr ? "" : found->scalar;
  }

  // One of two words; true: the second.
  bool choice(const Node& n, const char* key, const char* first, const char* second) {
    const std::string word = text(n, key);
    if (word != first && word != second && n.find(key) != nullptr)
      fail(*n.find(key), std::string("`") + key + "` is `" + word + "`",
           std::string(first) + " or " + second);
    return word == second;
  }

  void table(const Node& n) {
    check_keys(n, {"file", "device", "group", "launch", "caches", "role", "baseline"});
    ReferenceTable t;
    t.file = text(n, "file");
    t.device = text(n, "device");
    t.group = text(n, "group");
    t.launch = text(n, "launch");
    t.warm = choice(n, "caches", "cold", "warm");
    t.role = choice(n, "role", "fit", "judge") ? Role::judge : Role::fit;
    t.baseline = text(n, "baseline");
    if (!t.file.empty()) read_rows(t);
    out_.tables.push_back(std::move(t));
  }

  void read_rows(ReferenceTable& t) {
    const std::string path = folder_ + "/" + t.file;
    const Result<std::string> all = read_text(path);
    if (!all) {
      diags_.insert(diags_.end(), all.diags().begin(), all.diags().end());
      return;
    }
    std::istringstream lines(*all);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
      const size_t first = line.find(','), second = line.find(',', first + 1);
      const size_t end = std::min(line.find(',', second + 1), line.size());
      const bool whole = first != std::string::npos && second != std::string::npos;
      if (number == 1 && whole && line.starts_with("op,type,seconds")) continue;
      ReferenceRow row;
      if (whole) {
        row.op = line.substr(0, first);
        row.type = line.substr(first + 1, second - first - 1);
        if (const auto v = parse_number(line.substr(second + 1, end - second - 1)))
          row.seconds = *v;
      }
      if (row.seconds > 0) {
        t.rows.push_back(std::move(row));
        continue;
      }
      Diag d = error("expected op,type,seconds with a time above 0");
      d.file = path;
      d.line = number;
      diags_.push_back(std::move(d));
    }
  }

  void bar(const Node& n) {
    check_keys(n, {"name", "groups", "above", "at_most"});
    ReferenceBar b;
    b.name = text(n, "name");
    if (const Node* groups = n.find("groups"))
      for (const Node& g : groups->items) b.groups.push_back(g.scalar);
    if (const Node* above = n.find("above")) {
      const Result<Quantity> time = parse_quantity(above->scalar, Dimension::seconds);
      if (time) b.above = time->v;
      if (!time) fail(*above, "`above` is no time");
    }
    if (const auto most = parse_number(text(n, "at_most"))) b.at_most = *most;
    if (b.at_most <= 0) fail(n, "`at_most` is no positive number");
    out_.bars.push_back(std::move(b));
  }

  const yaml::Document& doc_;
  std::string folder_;
  Reference out_;
  Diags diags_;
};

}  // namespace

Result<Reference> read_reference(const std::string& folder) {
  const std::string path = folder + "/index.yaml";
  const Result<std::string> text = read_text(path);
  if (!text) return text.diags();
  const Result<yaml::Document> doc = yaml::parse(*text, path);
  if (!doc) return doc.diags();
  return IndexReader(*doc, folder).read();
}

}  // namespace assay::toolkit
