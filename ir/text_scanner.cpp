#include "ir/text_scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "support/edit_distance.h"
#include "support/number.h"

namespace assay::ir {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_inner(char c) { return is_letter(c) || is_digit(c) || c == '.'; }

}  // namespace

void Scanner::skip_blanks() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t'))
    ++at_;
}

char Scanner::peek() {
  skip_blanks();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool Scanner::done() {
  skip_blanks();
  return at_ == text_.size();
}

bool Scanner::accept(char c) {
  if (done() || text_[at_] != c) return false;
  ++at_;
  return true;
}

bool Scanner::accept_word(std::string_view word) {
  skip_blanks();
  const size_t end = at_ + word.size();
  if (!text_.substr(at_).starts_with(word) || (end < text_.size() && is_inner(text_[end])))
    return false;
  at_ = end;
  return true;
}

void Scanner::expect(char c) {
  if (!accept(c)) fail(fmt::format("found {}, expected '{}'", found(), c));
}

void Scanner::expect_end() {
  if (!done()) fail(fmt::format("found {}, expected the end of the expression", found()));
}

std::string Scanner::found() const {
  if (at_ >= text_.size()) return "the end";
  size_t end = at_ + 1;
  while (is_inner(text_[at_]) && end < text_.size() && is_inner(text_[end])) ++end;
  return fmt::format("'{}'", text_.substr(at_, end - at_));
}

bool Scanner::at_name() { return is_letter(peek()) || peek() == '\''; }
bool Scanner::at_integer() { return is_digit(peek()); }

std::string Scanner::name() {
  if (!at_name()) fail(fmt::format("found {}, expected a name", found()));
  const size_t start = at_;
  if (text_[at_] != '\'') {
    while (at_ < text_.size() && is_inner(text_[at_])) ++at_;
    return std::string(text_.substr(start, at_ - start));
  }
  std::string name;
  for (++at_; at_ < text_.size() && text_[at_] != '\''; ++at_) {
    if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
    name += text_[at_];
  }
  if (at_ == text_.size()) fail_at(start, "this quoted name does not end", "close it with '");
  ++at_;
  return name;
}

int64_t Scanner::integer() {
  if (!at_integer()) fail(fmt::format("found {}, expected a whole number", found()));
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (error != std::errc()) fail("this number is too large");
  at_ = static_cast<size_t>(end - text_.data());
  return value;
}

double Scanner::real() {
  if (!at_integer() && peek() != '.') fail(fmt::format("found {}, expected a number", found()));
  double value = 0;
  const auto [end, error] = read_double(text_.data() + at_, text_.data() + text_.size(), value);
  if (error != std::errc()) fail("this is not a number that a double can hold");
  at_ = static_cast<size_t>(end - text_.data());
  return value;
}

void Scanner::fail(std::string message, std::string hint) const {
  fail_at(at_, std::move(message), std::move(hint));
}

void Scanner::fail_at(size_t at, std::string message, std::string hint) const {
  throw TextFault{at, std::move(message), std::move(hint)};
}

std::string spell_name(std::string_view name) {
  const bool bare = !name.empty() && is_letter(name[0]) &&
                    std::all_of(name.begin(), name.end(), is_inner) && name != "inf" &&
                    name != "nan";
  if (bare) return std::string(name);
  std::string quoted = "'";
  for (char c : name) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

int find_name(const Scanner& scanner, size_t at, std::string_view what, const std::string& name,
              std::span<const std::string> names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  const std::string near = name.size() > 1 ? nearest(name, names) : "";  // a letter is near to any
  std::string hint = fmt::format(
      "known here: {}", fmt::join(names.subspan(0, std::min<size_t>(names.size(), 12)), ", "));
  if (!near.empty()) hint = fmt::format("did you mean {}?", near);
  scanner.fail_at(at, fmt::format("there is no {} {}", what, name), std::move(hint));
}

}  // namespace assay::ir
