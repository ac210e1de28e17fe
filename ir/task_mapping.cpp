#include "ir/task_mapping.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>

#include "support/edit_distance.h"

namespace assay::ir {
namespace {

using Kind = MappingStep::Kind;

struct Word {
  Kind kind;
  std::string_view name;
  int sizes;
};
constexpr std::array<Word, 4> kWords = {{{Kind::repeat, "repeat", 2},
                                         {Kind::spatial, "spatial", 2},
                                         {Kind::spatial_by_column, "spatial_by_column", 2},
                                         {Kind::replicate, "replicate", 1}}};
constexpr int kLargest = 1024;
constexpr const char* kForm = "for instance: repeat(2, 1) * spatial(8, 4) * repeat(1, 2)";

bool is_spatial(const MappingStep& s) {
  return s.kind == Kind::spatial || s.kind == Kind::spatial_by_column;
}
int rows_of(const MappingStep& s) { return s.kind == Kind::replicate ? 1 : s.rows; }
int cols_of(const MappingStep& s) { return s.kind == Kind::replicate ? 1 : s.cols; }
int workers_of(const MappingStep& s) {
  return is_spatial(s) ? s.rows * s.cols : s.kind == Kind::replicate ? s.rows : 1;
}
int items_of(const MappingStep& s) { return s.kind == Kind::repeat ? s.rows * s.cols : 1; }

template <class F>
int product(const std::vector<MappingStep>& steps, F&& f) {
  int n = 1;
  for (const MappingStep& s : steps) n *= f(s);
  return n;
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string_view word() {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalpha(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }
  int number() {  // 0: there is none
    skip();
    int n = 0;
    const auto [end, fault] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), n);
    if (fault != std::errc()) return 0;
    at_ = static_cast<size_t>(end - text_.data());
    return n;
  }
  bool done() {
    skip();
    return at_ == text_.size();
  }
  std::string_view rest() const { return text_.substr(at_); }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  std::string_view text_;
  size_t at_ = 0;
};

Result<MappingStep> parse_step(Scanner& in) {
  const std::string name(in.word());
  for (const Word& w : kWords) {
    if (w.name != name) continue;
    MappingStep s{w.kind, 1, 1};
    const bool opened = in.take('(');
    s.rows = in.number();
    if (w.sizes == 2) s.cols = in.take(',') ? in.number() : 0;
    if (!opened || !in.take(')') || s.rows < 1 || s.cols < 1 || s.rows > kLargest ||
        s.cols > kLargest)
      return error(fmt::format("'{}' takes {} from 1 to {}", name,
                               w.sizes == 2 ? "two numbers" : "a number", kLargest),
                   kForm);
    return s;
  }
  std::vector<std::string> known;
  for (const Word& w : kWords) known.emplace_back(w.name);
  const std::string near = nearest(name, known);
  return error(fmt::format("'{}' is no step of a task mapping, expected one of: {}",
                           name.empty() ? std::string(in.rest()) : name, fmt::join(known, ", ")),
               near.empty() ? kForm : fmt::format("did you mean '{}'?", near));
}

}  // namespace

int TaskMapping::rows() const { return product(steps, rows_of); }
int TaskMapping::cols() const { return product(steps, cols_of); }
int TaskMapping::workers() const { return product(steps, workers_of); }
int TaskMapping::items() const { return product(steps, items_of); }

// From the innermost step out: the quotients of worker and item belong to the outer steps.
Task TaskMapping::task(int worker, int item) const {
  Task t;
  int rows = 1, cols = 1;
  for (auto s = steps.rbegin(); s != steps.rend(); ++s) {
    const int w = worker % workers_of(*s), i = item % items_of(*s);
    worker /= workers_of(*s);
    item /= items_of(*s);
    Task own;
    if (s->kind == Kind::repeat) own = {i / s->cols, i % s->cols};
    if (s->kind == Kind::spatial) own = {w / s->cols, w % s->cols};
    if (s->kind == Kind::spatial_by_column) own = {w % s->rows, w / s->rows};
    t.row += own.row * rows;
    t.col += own.col * cols;
    rows *= rows_of(*s);
    cols *= cols_of(*s);
  }
  return t;
}

namespace {

// Steps from the innermost one out, until workers divide the row (or the column).
template <class F>
int neighbours(const TaskMapping& m, F&& extent) {
  int n = 1;
  for (auto s = m.steps.rbegin(); s != m.steps.rend(); ++s) {
    if (s->kind == Kind::repeat)
      n *= extent(*s);
    else if (extent(*s) > 1)
      break;
  }
  return n;
}

}  // namespace

int neighbours_in_row(const TaskMapping& m) { return neighbours(m, cols_of); }
int neighbours_in_column(const TaskMapping& m) { return neighbours(m, rows_of); }

Result<TaskMapping> parse_mapping(std::string_view text) {
  Scanner in(text);
  TaskMapping m;
  int64_t tasks = 1;
  do {
    auto s = parse_step(in);
    if (!s) return s.diags();
    tasks *= int64_t{s->rows} * s->cols;
    if (tasks > int64_t{kLargest} * kLargest)
      return error(fmt::format("'{}' has more than {} tasks", text, kLargest * kLargest));
    m.steps.push_back(*s);
  } while (in.take('*'));
  if (!in.done()) return error(fmt::format("'{}' stands behind a task mapping", in.rest()), kForm);
  return m;
}

std::string print(const TaskMapping& m) {
  std::string text;
  for (const MappingStep& s : m.steps) {
    if (!text.empty()) text += " * ";
    for (const Word& w : kWords)
      if (w.kind == s.kind)
        text += w.sizes == 2 ? fmt::format("{}({}, {})", w.name, s.rows, s.cols)
                             : fmt::format("{}({})", w.name, s.rows);
  }
  return text;
}

}  // namespace assay::ir
