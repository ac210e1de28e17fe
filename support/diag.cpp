#include "support/diag.h"

#include <algorithm>
#include <sstream>
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

namespace {

constexpr int kMostOfAKind = 10;

// The kind of its first message.
struct MessageKind {
  const Diag* first;
  std::vector<std::string> words;
  int count = 0;
  std::string hint;  // the last one printed

  bool holds(const Diag& d, const std::vector<std::string>& its_words) const {
    if (d.severity != first->severity || its_words.size() != words.size()) return false;
    size_t other = 0;
    for (size_t i = 0; i < words.size(); ++i) other += words[i] != its_words[i] ? 1 : 0;
    return 2 * other < words.size();
  }
};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

struct Sorted {
  std::vector<MessageKind> kinds;
  std::vector<size_t> kind_of;  // per message
};

Sorted sorted_by_kind(std::span<const Diag> diags) {
  Sorted s;
  for (const Diag& d : diags) {
    std::vector<std::string> words = words_of(d.message);
    const auto found = std::find_if(s.kinds.begin(), s.kinds.end(),
                                    [&](const MessageKind& k) { return k.holds(d, words); });
    s.kind_of.push_back(static_cast<size_t>(found - s.kinds.begin()));
    if (found == s.kinds.end()) s.kinds.push_back({&d, std::move(words), 0, ""});
    ++s.kinds[s.kind_of.back()].count;
  }
  return s;
}

}  // namespace

std::string render_kinds(std::span<const Diag> diags) {
  Sorted s = sorted_by_kind(diags);
  std::vector<int> printed(s.kinds.size(), 0);
  std::string out;
  for (size_t i = 0; i < diags.size(); ++i) {
    MessageKind& kind = s.kinds[s.kind_of[i]];
    int& n = printed[s.kind_of[i]];
    if (n == kMostOfAKind) continue;
    Diag d = diags[i];
    if (d.hint == kind.hint) d.hint.clear();
    if (!d.hint.empty()) kind.hint = d.hint;
    out += render(d);
    if (++n == kMostOfAKind && kind.count > n)
      out += "... and " + std::to_string(kind.count - n) + " more of this kind\n";
  }
  return out;
}

bool has_error(std::span<const Diag> diags) {
  return std::any_of(diags.begin(), diags.end(),
                     [](const Diag& d) { return d.severity == Severity::error; });
}

}  // namespace assay
