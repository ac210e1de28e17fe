// A cursor over one expression string (an index, a body, a layout), shared by the parsers of the
// compact text forms. A parser throws a TextFault at unexpected text; the reader of the enclosing
// YAML turns it into a Diag with line and column.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace assay::ir {

struct TextFault {
  size_t at = 0;  // 0-based place in the string
  std::string message, hint;
};

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  size_t at() const { return at_; }
  bool done();  // nothing but blanks is left
  char peek();  // the next character after blanks; '\0' at the end
  bool accept(char c);
  bool accept_word(std::string_view word);  // a whole identifier
  void expect(char c);
  void expect_end();

  bool at_name();  // an identifier or a quoted name
  bool at_integer();
  std::string name();
  int64_t integer();  // digits without a sign
  double real();      // digits, point, exponent, without a sign

  [[noreturn]] void fail(std::string message, std::string hint = "") const;
  [[noreturn]] void fail_at(size_t at, std::string message, std::string hint = "") const;

 private:
  void skip_blanks();
  std::string found() const;  // the text here, for messages

  std::string_view text_;
  size_t at_ = 0;
};

// A name as the scanner reads it back: bare when it is an identifier (letters, digits, _ and .),
// else in single quotes with \' and \\ escaped.
std::string spell_name(std::string_view name);

// The index of `name` in `names`; fails at `at` with the nearest one as hint.
int find_name(const Scanner& scanner, size_t at, std::string_view what, const std::string& name,
              std::span<const std::string> names);

}  // namespace assay::ir
