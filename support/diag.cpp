#include "support/diag.h"

#include <algorithm>
#include <utility>

namespace assay {

Diag error(std::string message, std::string hint) {
  Diag d;
  d.message = std::move(message);
  d.hint = std::move(hint);
  return d;
}

std::string line_of(std::string_view text, int n) {
  if (n < 1) return "";
  size_t begin = 0;
  for (int i = 1; i < n; ++i) {
    begin = text.find('\n', begin);
    if (begin == std::string_view::npos) return "";
    ++begin;
  }
  std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return std::string(line);
}

namespace {

const char* name_of(Severity s) {
  switch (s) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "error";
}

// The caret's line: tabs are kept so that the caret stands under its character.
std::string caret_line(const std::string& source, int col) {
  std::string out;
  for (int i = 0; i + 1 < col; ++i)
    out +=
        i < static_cast<int>(source.size()) && source[static_cast<size_t>(i)] == '\t' ? '\t' : ' ';
  return out + "^";
}

}  // namespace

std::string render(const Diag& d) {
  std::string out;
  if (!d.file.empty()) {
    out += d.file + ":";
    if (d.line > 0) out += std::to_string(d.line) + ":";
    if (d.line > 0 && d.col > 0) out += std::to_string(d.col) + ":";
    out += " ";
  }
  out += std::string(name_of(d.severity)) + ": " + d.message + "\n";
  if (!d.source_line.empty()) {
    out += "  " + d.source_line + "\n";
    if (d.col > 0) out += "  " + caret_line(d.source_line, d.col) + "\n";
  }
  if (!d.hint.empty()) out += "hint: " + d.hint + "\n";
  return out;
}

std::string render(std::span<const Diag> diags) {
  std::string out;
  for (const Diag& d : diags) out += render(d);
  return out;
}

bool has_error(std::span<const Diag> diags) {
  return std::any_of(diags.begin(), diags.end(),
                     [](const Diag& d) { return d.severity == Severity::error; });
}

}  // namespace assay
