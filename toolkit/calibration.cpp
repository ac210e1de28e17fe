#include "toolkit/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "support/edit_distance.h"
#include "support/files/files.h"
#include "support/number.h"
#include "support/yaml.h"

namespace assay::toolkit {
namespace {

constexpr const char* kSchema = "assay/calibration/1";
constexpr int64_t kMaxCalibrationBytes = 1 << 20;
constexpr double kMostFactor = 1e6;

using yaml::Node;

class Reader {  // invariant: refers to a document that outlives it
 public:
  explicit Reader(const yaml::Document& doc) : doc_(doc) {}

  Result<Calibration> run() {
    if (!is_map(doc_.root, "a calibration")) return std::move(diags_);
    only(doc_.root, {"schema", "name", "profile", "api", "device", "data", "classes"});
    const std::string schema = text(doc_.root, "schema");
    if (!schema.empty() && schema != kSchema)
      fail(*doc_.root.find("schema"), "schema '" + schema + "', expected " + kSchema);
    out_.name = text(doc_.root, "name");
    out_.profile = text(doc_.root, "profile");
    out_.api = text(doc_.root, "api");
    out_.device = text(doc_.root, "device");
    read_data();
    read_classes();
    if (!diags_.empty()) return std::move(diags_);
    return std::move(out_);
  }

 private:
  void fail(const Node& at, std::string message, std::string hint = "") {
    diags_.push_back(yaml::error_at(doc_, at, std::move(message), std::move(hint)));
  }

  bool is_map(const Node& n, const std::string& what) {
    if (n.kind != Node::Kind::map) fail(n, what + " is a map");
    return n.kind == Node::Kind::map;
  }

  void only(const Node& map, const std::vector<std::string>& keys) {
    for (const yaml::Entry& e : map.entries) {
      if (std::find(keys.begin(), keys.end(), e.key) != keys.end()) continue;
      const std::string near = nearest(e.key, keys);
      diags_.push_back(yaml::error_at(doc_, e.line, e.col, "'" + e.key + "' is unknown here",
                                      near.empty() ? "" : "did you mean '" + near + "'?"));
    }
  }

  const Node* scalar(const Node& map, const char* key) {
    const Node* n = map.find(key);
    if (n != nullptr && n->kind == Node::Kind::scalar) return n;
    fail(n == nullptr ? map : *n,
         std::string("'") + key + (n == nullptr ? "' is missing" : "' is no plain value"));
    return nullptr;
  }

  std::string text(const Node& map, const char* key) {
    const Node* n = scalar(map, key);
    return n == nullptr ? "" : n->scalar;
  }

  double number(const Node& map, const char* key, double least, double most, const char* expected) {
    const Node* n = scalar(map, key);
    if (n == nullptr) return least;
    double value = 0;
    const char* end = n->scalar.data() + n->scalar.size();
    const auto read = read_double(n->scalar.data(), end, value);
    if (read.ec == std::errc{} && read.ptr == end && least <= value && value <= most) return value;
    fail(*n, std::string("'") + key + "' is '" + n->scalar + "', expected " + expected);
    return least;
  }

  int count(const Node& map, const char* key) {
    return static_cast<int>(number(map, key, 0, 1e9, "a number of them"));
  }

  void read_data() {
    const Node* data = doc_.root.find("data");
    if (data == nullptr) return fail(doc_.root, "'data' is missing");
    if (!is_map(*data, "'data'")) return;
    only(*data, {"hash", "programs", "operators"});
    out_.data = text(*data, "hash");
    out_.programs = count(*data, "programs");
    out_.operators = count(*data, "operators");
  }

  void read_classes() {
    const Node* classes = doc_.root.find("classes");
    if (classes == nullptr) return fail(doc_.root, "'classes' is missing");
    if (!is_map(*classes, "'classes'")) return;
    for (const yaml::Entry& e : classes->entries) {
      if (!is_map(e.value, "a class")) continue;
      only(e.value, {"factor", "below", "above", "programs", "operators"});
      Correction c;
      c.factor = number(e.value, "factor", 1 / kMostFactor, kMostFactor, "a factor above 0");
      c.below = number(e.value, "below", 0, kMostFactor, "a factor of 0 or more");
      c.above = number(e.value, "above", 0, kMostFactor, "a factor of 0 or more");
      c.programs = count(e.value, "programs");
      c.operators = count(e.value, "operators");
      out_.classes[e.key] = c;
    }
    if (!out_.classes.contains(kAnyClass))
      fail(*classes, "the class 'any' is missing", "it is for operators of no other class");
  }

  const yaml::Document& doc_;
  Calibration out_;
  Diags diags_;
};

Node entry(const Correction& c) {
  Node n = yaml::map();
  yaml::put(n, "factor", yaml::scalar(fmt::format("{:.4g}", c.factor)));
  yaml::put(n, "below", yaml::scalar(fmt::format("{:.4g}", c.below)));
  yaml::put(n, "above", yaml::scalar(fmt::format("{:.4g}", c.above)));
  yaml::put(n, "programs", yaml::scalar(std::to_string(c.programs)));
  yaml::put(n, "operators", yaml::scalar(std::to_string(c.operators)));
  return n;
}

}  // namespace

std::string class_of(const ir::Program& p) { return p.graph.nodes[0].op; }

Span calibrated(const Calibration& c, const std::string& class_name, const model::Estimate& e) {
  const auto own = c.classes.find(class_name);
  const Correction& by = own != c.classes.end() ? own->second : c.classes.at(kAnyClass);
  const double middle = e.seconds * by.factor;
  if (middle <= 0) return {e.seconds, e.low, e.high};
  return {middle, middle * std::pow(e.low / e.seconds, by.below),
          middle * std::pow(e.high / e.seconds, by.above)};
}

Span sum_of(std::span<const Span> steps) {
  Span out;
  for (const Span& s : steps) out = {out.seconds + s.seconds, out.low + s.low, out.high + s.high};
  return out;
}

std::string print_calibration(const Calibration& c) {
  Node root = yaml::map(), data = yaml::map(), classes = yaml::map();
  for (const auto& [key, value] : {std::pair{"schema", std::string(kSchema)},
                                   {"name", c.name},
                                   {"profile", c.profile},
                                   {"api", c.api},
                                   {"device", c.device}})
    yaml::put(root, key, yaml::scalar(value));
  yaml::put(data, "hash", yaml::scalar(c.data));
  yaml::put(data, "programs", yaml::scalar(std::to_string(c.programs)));
  yaml::put(data, "operators", yaml::scalar(std::to_string(c.operators)));
  yaml::put(root, "data", std::move(data));
  for (const auto& [name, correction] : c.classes) yaml::put(classes, name, entry(correction));
  yaml::put(root, "classes", std::move(classes));
  return yaml::print(root);
}

Result<Calibration> parse_calibration(std::string_view text, std::string_view file) {
  const Result<yaml::Document> doc = yaml::parse(text, file);
  if (!doc) return doc.diags();
  return Reader(*doc).run();
}

Result<Calibration> load_calibration(const std::string& path) {
  const Result<std::string> text = read_text(path, kMaxCalibrationBytes);
  if (!text) return text.diags();
  return parse_calibration(*text, path);
}

}  // namespace assay::toolkit
