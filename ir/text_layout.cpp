#include "ir/text_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/limits.h"

namespace assay::ir {
namespace {

constexpr int64_t kMaxRank = 64, kMaxPadValue = 255;

int64_t bounded(Scanner& s, int64_t low, int64_t high, const char* what) {
  s.peek();
  const size_t at = s.at();
  const int64_t value = s.integer();
  if (value < low || value > high)
    s.fail_at(at, fmt::format("{} is {}, expected {} to {}", what, value, low, high));
  return value;
}

PhysicalDim parse_dim(Scanner& s) {
  PhysicalDim d;
  d.dim = static_cast<int>(bounded(s, 0, kMaxRank - 1, "the dimension"));
  if (s.accept('/')) d.div = bounded(s, 1, kMaxExtent, "the block");
  if (s.accept('%')) d.mod = bounded(s, 1, kMaxExtent, "the block");
  return d;
}

size_t rank_of(const Layout& l) {
  int highest = -1;
  for (const PhysicalDim& d : l.dims) highest = std::max(highest, d.dim);
  return static_cast<size_t>(highest + 1);
}

void parse_pads(Scanner& s, Layout& l) {
  l.pad.resize(rank_of(l));
  do {
    const size_t dim = static_cast<size_t>(bounded(s, 0, kMaxRank - 1, "the padded dimension"));
    s.expect(':');
    const int64_t before = bounded(s, 0, kMaxExtent, "the padding");
    s.expect(',');
    const int64_t after = bounded(s, 0, kMaxExtent, "the padding");
    if (dim >= l.pad.size()) l.pad.resize(dim + 1);
    l.pad[dim] = {before, after};
  } while (s.at_integer());
  if (!s.accept_word("of")) return;
  const bool negative = s.accept('-');
  l.pad_value = static_cast<double>(bounded(s, 0, kMaxPadValue, "the padding's value"));
  if (negative) l.pad_value = -l.pad_value;
}

}  // namespace

// An empty `pad` and one of zeros differ: the latter prints its last dimension.
std::string print(const Layout& layout) {
  std::string text = "[";
  for (const PhysicalDim& d : layout.dims) {
    if (text.size() > 1) text += ", ";
    text += fmt::format("{}", d.dim);
    if (d.div != 1) text += fmt::format("/{}", d.div);
    if (d.mod != 0) text += fmt::format("%{}", d.mod);
  }
  text += "]";
  if (layout.pad.empty()) return text;
  text += " pad";
  const size_t last = layout.pad.size() - 1;
  const bool last_shown = !is_padded(layout) || layout.pad.size() > rank_of(layout);
  for (size_t d = 0; d <= last; ++d)
    if (layout.pad[d] != Pad{} || (d == last && last_shown))
      text += fmt::format(" {}:{},{}", d, layout.pad[d].before, layout.pad[d].after);
  if (layout.pad_value != 0) text += fmt::format(" of {}", layout.pad_value);
  return text;
}

Layout parse_layout(Scanner& s) {
  Layout l;
  s.expect('[');
  if (s.peek() != ']') {
    do l.dims.push_back(parse_dim(s));
    while (s.accept(','));
  }
  s.expect(']');
  if (l.dims.size() > static_cast<size_t>(kMaxRank)) s.fail("the layout has too many dimensions");
  if (s.accept_word("pad")) parse_pads(s, l);
  s.expect_end();
  return l;
}

std::string layout_fault(const Layout& layout, std::span<const int64_t> shape) {
  const std::string rank_fault =
      fmt::format("the layout does not fit a tensor of {} dimensions", shape.size());
  if (!layout.pad.empty() && layout.pad.size() != shape.size()) return rank_fault;
  std::vector<bool> placed(shape.size(), false);
  int64_t storage = 1;
  for (const PhysicalDim& d : layout.dims) {
    const size_t dim = static_cast<size_t>(d.dim);
    if (dim >= shape.size()) return rank_fault;
    placed[dim] = true;
    const Pad pad = pad_of(layout, d.dim);
    const int64_t blocks = (shape[dim] + pad.before + pad.after - 1) / d.div + 1;
    const int64_t extent = d.mod == 0 ? blocks : d.mod;
    if (extent > kMaxElements / storage) return "the layout needs too much storage";
    storage *= extent;
  }
  return std::find(placed.begin(), placed.end(), false) == placed.end() ? "" : rank_fault;
}

Result<Layout> parse_layout(std::string_view text) {
  Scanner scanner(text);
  try {
    return parse_layout(scanner);
  } catch (const TextFault& fault) {
    Diag d = error(fault.message, fault.hint);
    d.line = 1;
    d.col = static_cast<int>(fault.at) + 1;
    d.source_line = text;
    return d;
  }
}

}  // namespace assay::ir
