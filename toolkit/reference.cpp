#include "toolkit/reference.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "ir/dtype.h"
#include "support/files/files.h"
#include "support/quantity.h"
#include "support/yaml_reader.h"

namespace assay::toolkit {
namespace {

using yaml::Node;

const std::vector<std::string> kPrograms = {"xgemm"};

// The fields of a line; quotes may hold commas. Empty: a quote does not end.
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      out.back() += line[i++];
    else if (line[i] == '"')
      quoted = !quoted;
    else if (line[i] == ',' && !quoted)
      out.emplace_back();
    else if (line[i] != '\r')
      out.back() += line[i];
  }
  return quoted ? std::vector<std::string>{} : out;
}

// Rows of op,type,seconds, and the table's further columns.
class TableReader {
 public:
  TableReader(std::string path, ReferenceTable& table, Diags& diags)
      : path_(std::move(path)), table_(table), diags_(diags) {}

  void read() {
    const Result<std::string> text = read_text(path_);
    if (!text) {
      diags_.insert(diags_.end(), text.diags().begin(), text.diags().end());
      return;
    }
    std::istringstream lines(*text);
    std::string line;
    line_ = 1;
    std::getline(lines, line);
    if (!header(fields_of(line))) return;
    for (line_ = 2; std::getline(lines, line); ++line_) row(fields_of(line));
    if (table_.rows.empty()) fail("the table has no rows");
  }

 private:
  bool fail(std::string message) {
    Diag d = error(std::move(message));
    d.file = path_;
    d.line = line_;
    diags_.push_back(std::move(d));
    return false;
  }

  bool header(const std::vector<std::string>& fields) {
    const std::vector<std::string> first = {"op", "type", "seconds"};
    if (fields.size() < 3 || !std::equal(first.begin(), first.end(), fields.begin()))
      return fail("expected the columns op,type,seconds");
    table_.columns.assign(fields.begin() + 3, fields.end());
    return true;
  }

  bool row(const std::vector<std::string>& fields) {
    const size_t expected = 3 + table_.columns.size();
    if (fields.size() != expected)
      return fail("expected " + std::to_string(expected) + " fields, found " +
                  (fields.empty() ? "a quote without end" : std::to_string(fields.size())));
    if (fields[0].empty()) return fail("expected an operator before the first comma");
    if (!ir::parse_dtype(fields[1])) return fail("`" + fields[1] + "` is no type");
    const Result<double> seconds = parse_number(fields[2]);
    if (!seconds || !(*seconds > 0) || !std::isfinite(*seconds))
      return fail("expected op,type,seconds with a time above 0, found `" + fields[2] + "`");
    table_.rows.push_back({fields[0], fields[1], *seconds, {fields.begin() + 3, fields.end()}});
    return true;
  }

  std::string path_;
  ReferenceTable& table_;
  Diags& diags_;
  int line_ = 0;
};

class IndexReader : yaml::Reader {
 public:
  IndexReader(const yaml::Document& document, std::string folder)
      : yaml::Reader{document}, folder_(std::move(folder)) {}

  Result<Reference> read() {
    only_keys(doc.root, {"schema", "notes", "sources", "bandwidths", "tables", "bars"});
    schema("assay/reference/1");
    if (const Node* sources = doc.root.find("sources")) read_sources(*sources);
    for (const Node& n : items(doc.root, "tables")) table(n);
    if (out_.tables.empty()) fail(doc.root, "'tables' lists none");
    check_baselines();
    if (const Node* bandwidths = doc.root.find("bandwidths")) read_bandwidths(*bandwidths);
    for (const Node& n : items(doc.root, "bars")) bar(n);
    if (!diags.empty()) return diags;
    return std::move(out_);
  }

 private:
  void read_sources(const Node& n) {
    if (n.kind != Node::Kind::map) fail(n, "expected a map from names to sources");
    for (const yaml::Entry& e : n.entries) {
      only_keys(e.value, {"from", "licence", "timed"});
      out_.sources.push_back(
          {e.key, text(e.value, "from"), text(e.value, "licence"), text(e.value, "timed")});
    }
  }

  void read_bandwidths(const Node& n) {
    if (n.kind != Node::Kind::map) fail(n, "expected a map from devices to bandwidths");
    for (const yaml::Entry& e : n.entries) {
      const auto of_it = [&](const ReferenceTable& t) { return t.device == e.key; };
      if (std::none_of(out_.tables.begin(), out_.tables.end(), of_it))
        fail(e.value, "no table is of the device '" + e.key + "'");
      const Result<Quantity> v = parse_quantity(e.value.scalar, Dimension::bandwidth);
      if (!v || !v->clock.empty() || !(v->v > 0))
        fail(e.value, "'" + e.value.scalar + "' is no bandwidth", "such as 900 GB/s");
      else
        out_.bandwidths[e.key] = v->v;
    }
  }

  void table(const Node& n) {
    only_keys(n, {"file", "source", "device", "group", "launch", "caches", "role", "baseline",
                  "not_estimated", "programs"});
    ReferenceTable t;
    t.file = text(n, "file");
    t.source = text(n, "source");
    t.device = text(n, "device");
    t.group = text(n, "group");
    t.launch = text(n, "launch");
    t.warm = word(n, "caches", {"cold", "warm"}) == 1;
    t.role = word(n, "role", {"fit", "judge"}) == 1 ? Role::judge : Role::fit;
    t.not_estimated = text(n, "not_estimated", "");
    if (n.find("programs") != nullptr)
      t.programs = kPrograms[static_cast<size_t>(word(n, "programs", kPrograms))];
    const bool operators = t.not_estimated.empty() && t.programs.empty();
    t.baseline = operators ? text(n, "baseline") : text(n, "baseline", "");
    if (!t.programs.empty() && !(t.baseline.empty() && t.not_estimated.empty()))
      fail(n, "a table of programs has neither 'baseline' nor 'not_estimated'");
    if (!t.programs.empty() && t.launch != "stream")
      fail(n, "programs are estimated with launches in a stream, found '" + t.launch + "'");
    const auto named = [&](const ReferenceSource& s) { return s.name == t.source; };
    if (!t.source.empty() && std::none_of(out_.sources.begin(), out_.sources.end(), named))
      fail(*n.find("source"), "source '" + t.source + "' is none of 'sources'");
    if (find(t.file) != nullptr) fail(n, "table '" + t.file + "' is listed twice");
    if (!t.file.empty()) TableReader(folder_ + "/" + t.file, t, diags).read();
    nodes_.push_back(&n);
    out_.tables.push_back(std::move(t));
  }

  const ReferenceTable* find(const std::string& file) const {
    for (const ReferenceTable& t : out_.tables)
      if (t.file == file) return &t;
    return nullptr;
  }

  // A baseline's own rows are estimated, since its constants come from them.
  void check_baselines() {
    for (size_t i = 0; i < out_.tables.size(); ++i) {
      const std::string& file = out_.tables[i].baseline;
      if (file.empty()) continue;
      const ReferenceTable* found = find(file);
      if (found == nullptr) fail(*nodes_[i], "baseline '" + file + "' is no table");
      if (found != nullptr && !found->programs.empty())
        fail(*nodes_[i], "baseline '" + file + "' is of programs");
      if (found != nullptr && !found->not_estimated.empty())
        fail(*nodes_[i], "baseline '" + file + "' is not estimated");
    }
  }

  void bar(const Node& n) {
    only_keys(n, {"name", "groups", "above", "figure", "at_most", "at_least"});
    ReferenceBar b;
    b.name = text(n, "name");
    if (n.find("figure") != nullptr)
      b.figure = static_cast<BarFigure>(word(n, "figure", {"error", "kendall", "subset regret"}));
    if (n.find("above") != nullptr) {
      const Result<Quantity> time = parse_quantity(text(n, "above"), Dimension::seconds);
      if (time) b.above = time->v;
      if (!time) fail(*n.find("above"), "'above' is no time", "such as 50 us");
    }
    if (need(n, "groups") != nullptr)
      for (const Node& g : items(n, "groups")) group(g, b);
    const std::string key = b.figure == BarFigure::kendall ? "at_least" : "at_most";
    const std::string bound = text(n, key);
    if (const auto v = parse_number(bound)) b.bound = *v;
    if (!bound.empty() && !(b.bound > 0)) fail(n, "'" + key + "' is no positive number");
    if (n.find(key == "at_most" ? "at_least" : "at_most") != nullptr)
      fail(n, "a bar of this figure has '" + key + "'");
    out_.bars.push_back(std::move(b));
  }

  void group(const Node& n, ReferenceBar& b) {
    const auto of_it = [&](const ReferenceTable& t) { return t.group == n.scalar; };
    if (std::none_of(out_.tables.begin(), out_.tables.end(), of_it))
      fail(n, "no table is of the group '" + n.scalar + "'");
    const auto ordered = [&](const ReferenceTable& t) {
      return t.group == n.scalar && !t.programs.empty();
    };
    const bool programs = std::any_of(out_.tables.begin(), out_.tables.end(), ordered);
    if (b.figure != BarFigure::error && !programs)
      fail(n, "group '" + n.scalar + "' has no programs, which this figure is of");
    if (b.above > 0 && programs)
      fail(n, "group '" + n.scalar + "' is of programs, which 'above' does not divide");
    b.groups.push_back(n.scalar);
  }

  std::string folder_;
  Reference out_;
  std::vector<const Node*> nodes_;  // of the tables
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

Result<std::vector<ReferenceRow>> read_measurements(const std::string& path) {
  Diags diags;
  ReferenceTable t;
  TableReader(path, t, diags).read();
  if (!diags.empty()) return diags;
  return std::move(t.rows);
}

}  // namespace assay::toolkit
