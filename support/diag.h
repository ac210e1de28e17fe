// A message for a person: where, what was found, what was expected, and a hint.
//
// A fault that a user can cause is returned as Diags, all of them and not only the first. A fault
// that only a programmer can cause is a CHECK (support/check.h). Rendered as
//     file:line:col: error: message
//       the source line
//           ^
//     hint: ...
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

enum class Severity { note, warning, error };

struct Diag {
  Severity severity = Severity::error;
  std::string file;         // empty: the message concerns no file
  int line = 0;             // 1-based; 0: no line is known
  int col = 0;              // 1-based; 0: no column is known
  std::string message;      // what was found, then what was expected
  std::string source_line;  // the text of `line`, empty when not known
  std::string hint;         // what to do about it, empty when there is nothing to say
  bool operator==(const Diag&) const = default;
};

using Diags = std::vector<Diag>;

// An error that concerns no place in a file.
Diag error(std::string message, std::string hint = "");

// The n-th line (1-based) of `text` without its line end; empty when there is none.
std::string line_of(std::string_view text, int n);

std::string render(const Diag& diag);
std::string render(std::span<const Diag> diags);

// For people: at most ten messages of one kind, then how many more there are. Two messages are of
// one kind when they have the same severity and as many words, fewer than half of which differ: the
// words that differ are names and numbers. A hint of a kind is printed once while it stays the
// same.
std::string render_kinds(std::span<const Diag> diags);

bool has_error(std::span<const Diag> diags);

}  // namespace assay
