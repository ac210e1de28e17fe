#include "compiler/search/legal_space.h"

#include <algorithm>
#include <map>
#include <type_traits>

#include "compiler/search/point.h"
#include "compiler/search/tile_choices.h"
#include "lower/legal.h"
#include "lower/lower.h"

namespace assay::compiler {

namespace {

constexpr int kMostDraws = 20000;      // until one is legal
constexpr int kPrefetchDistance = 16;  // elements

template <class T>
const T& one_of(const std::vector<T>& of, std::mt19937_64& rng) {
  return of[rng() % of.size()];
}

// Chains of extents along one axis, outermost first: t[l] divides t[l-1], or t[l-1] is the axis.
class ExtentChains {  // invariant: above_[l][t]: ways to choose levels 0..l-1 around an extent t of
                      // level l
 public:
  ExtentChains(int64_t axis, int levels) : axis_(axis) {
    const auto n = static_cast<size_t>(axis);
    above_.assign(static_cast<size_t>(levels), std::vector<double>(n + 1, 1));
    for (size_t l = 1; l < above_.size(); ++l)
      for (int64_t t = 1; t <= axis; ++t) {
        double ways = above_[l - 1][n];
        for (int64_t outer = t; outer < axis; outer += t)
          ways += above_[l - 1][static_cast<size_t>(outer)];
        above_[l][static_cast<size_t>(t)] = ways;
      }
  }

  // `innermost`: the extents allowed in registers, not empty. Result: outermost first.
  std::vector<int64_t> draw(const std::vector<int64_t>& innermost, std::mt19937_64& rng) const {
    std::vector<int64_t> chain(above_.size());
    std::vector<int64_t> allowed = innermost;
    for (size_t l = above_.size(); l-- > 0;) {
      chain[l] = weighted(allowed, above_[l], rng);
      allowed.clear();
      for (int64_t outer = chain[l]; outer < axis_; outer += chain[l]) allowed.push_back(outer);
      allowed.push_back(axis_);
    }
    return chain;
  }

 private:
  static int64_t weighted(const std::vector<int64_t>& of, const std::vector<double>& weight,
                          std::mt19937_64& rng) {
    double sum = 0;
    for (int64_t t : of) sum += weight[static_cast<size_t>(t)];
    double at = static_cast<double>(rng() >> 11) * 0x1p-53 * sum;
    for (int64_t t : of)
      if ((at -= weight[static_cast<size_t>(t)]) < 0) return t;
    return of.back();
  }

  int64_t axis_;
  std::vector<std::vector<double>> above_;
};

// Operations in the unrolled register tile.
int64_t unrolled(const Point& p) {
  int64_t n = 1;
  for (size_t a = 0; a < p.extents.back().size(); ++a)
    n *= static_cast<int>(a) == p.vector_axis ? ceil_div(p.extents.back()[a], p.vector_width)
                                              : p.extents.back()[a];
  return n;
}

int64_t statements(const ir::Block& block) {
  int64_t n = 0;
  for (const ir::Stmt& s : block) {
    ++n;
    if (const auto* loop = std::get_if<ir::For>(&s.node)) n += statements(loop->body);
    if (const auto* branch = std::get_if<ir::If>(&s.node))
      n += statements(branch->then_body) + statements(branch->else_body);
  }
  return n;
}

// Extents a register tile may have along an axis.
std::vector<int64_t> register_extents(const Space& s, const Point& p, int axis) {
  std::vector<int64_t> out;
  const int64_t width = axis == p.vector_axis ? p.vector_width : 1;
  for (int64_t n = 1; n <= kMostUnrolled; ++n) {
    out.push_back(std::min(n * width, s.extent(axis)));
    if (n * width >= s.extent(axis)) break;
  }
  return out;
}

std::vector<int> shuffled_axes(size_t count, std::mt19937_64& rng) {
  std::vector<int> order;
  for (size_t a = 0; a < count; ++a) order.push_back(static_cast<int>(a));
  for (size_t a = count; a > 1; --a) std::swap(order[a - 1], order[rng() % a]);
  return order;
}

// Rounds outer tiles up to multiples of an inner one that has changed.
void keep_multiples(const Space& s, Point& p, size_t level, size_t axis) {
  const int64_t whole = s.extent(static_cast<int>(axis));
  for (size_t l = level; l-- > 0;) {
    int64_t& outer = p.extents[l][axis];
    const int64_t inner = p.extents[l + 1][axis];
    if (outer != whole) outer = std::min(ceil_div(outer, inner) * inner, whole);
  }
}

void resize(const Space& s, const Point& from, size_t level, size_t axis, int64_t extent,
            std::vector<Point>& out) {
  if (extent < 1 || extent > s.extent(static_cast<int>(axis)) ||
      extent == from.extents[level][axis])
    return;
  Point p = from;
  p.extents[level][axis] = extent;
  keep_multiples(s, p, level, axis);
  out.push_back(std::move(p));
}

void add_resized(const Space& s, const Point& from, std::vector<Point>& out) {
  for (size_t l = 0; l < from.extents.size(); ++l) {
    const bool registers = l + 1 == from.extents.size();
    for (size_t a = 0; a < from.extents[l].size(); ++a) {
      const int64_t t = from.extents[l][a], whole = s.extent(static_cast<int>(a));
      const int64_t step = !registers                                ? t
                           : static_cast<int>(a) == from.vector_axis ? from.vector_width
                                                                     : 1;
      resize(s, from, l, a, std::min(t + step, whole), out);
      resize(s, from, l, a, registers ? t - step : ceil_div(t, 2), out);
    }
  }
}

void add_reordered(const Point& from, std::vector<Point>& out) {
  for (size_t l = 0; l < from.orders.size(); ++l)
    for (size_t i = 0; i + 1 < from.orders[l].size(); ++i) {
      out.push_back(from);
      std::swap(out.back().orders[l][i], out.back().orders[l][i + 1]);
    }
}

void add_staged(const Space& s, const Point& from, std::vector<Point>& out) {
  const int levels = static_cast<int>(from.extents.size());
  for (int r = 0; r < static_cast<int>(from.staged.size()); ++r)
    for (int level = -1; level + 1 < levels && s.stageable(r); ++level) {
      if (level == from.staged[static_cast<size_t>(r)]) continue;
      out.push_back(from);
      out.back().staged[static_cast<size_t>(r)] = level;
    }
}

void add_widths(const Space& s, const Point& from, const std::vector<int>& widths,
                std::vector<Point>& out) {
  for (int w : widths) {
    if (from.vector_axis < 0 || w == 1 ||
        (w != 2 * from.vector_width && 2 * w != from.vector_width))
      continue;
    Point p = from;
    const auto a = static_cast<size_t>(from.vector_axis);
    p.vector_width = w;
    p.extents.back()[a] =
        std::min(ceil_div(p.extents.back()[a], w) * w, s.extent(from.vector_axis));
    keep_multiples(s, p, p.extents.size() - 1, a);
    out.push_back(std::move(p));
  }
}

}  // namespace

class LegalSpace::Drawer {  // invariant: chains_ hold the counts for every axis
 public:
  Drawer(const Space& s, std::vector<int> widths)
      : s_(s), widths_(std::move(widths)), levels_(levels_of(s)) {
    for (const ir::Axis& a : s.anchor.axes)
      if (!chains_.contains(a.extent)) chains_.emplace(a.extent, ExtentChains(a.extent, levels_));
  }

  std::optional<Point> draw(std::mt19937_64& rng) const {
    Point p;
    p.vector_axis = static_cast<int>(rng() % static_cast<size_t>(s_.spatial));
    p.vector_width = one_of(widths_, rng);
    Space::LaneCost cost;
    if (p.vector_width == 1)
      p.vector_axis = -1;
    else if (!s_.carries_lanes(p.vector_axis, p.vector_width, cost))
      return std::nullopt;
    draw_tiles(p, rng);
    if (unrolled(p) > kMostUnrolled) return std::nullopt;
    for (int r = 0; r < static_cast<int>(s_.anchor.reads.size()); ++r)
      p.staged.push_back(
          s_.stageable(r) ? static_cast<int>(rng() % static_cast<size_t>(levels_)) - 1 : -1);
    for (bool packable : s_.problem.packable) p.packed.push_back(packable && rng() % 2 == 1);
    p.prefetch = s_.reduces && rng() % 2 == 1 ? kPrefetchDistance : 0;
    return p;
  }

 private:
  void draw_tiles(Point& p, std::mt19937_64& rng) const {
    p.extents.assign(static_cast<size_t>(levels_), {});
    for (int a = 0; a < static_cast<int>(s_.anchor.axes.size()); ++a) {
      const std::vector<int64_t> chain =
          chains_.at(s_.extent(a)).draw(register_extents(s_, p, a), rng);
      for (size_t l = 0; l < chain.size(); ++l) p.extents[l].push_back(chain[l]);
    }
    for (int l = 0; l < levels_; ++l) p.orders.push_back(shuffled_axes(s_.anchor.axes.size(), rng));
  }

  const Space& s_;
  std::vector<int> widths_;
  int levels_;
  std::map<int64_t, ExtentChains> chains_;  // by extent of the axis
};

LegalSpace::LegalSpace(const Problem& problem, const hwdesc::Target& target,
                       const model::Machine& m)
    : space_(problem, m),
      target_(target),
      widths_(target.dialect.known && !m.simt ? target.dialect.vector_widths : m.widths) {
  std::erase_if(widths_, [&](int w) { return w > m.native_width; });
  if (std::find(widths_.begin(), widths_.end(), 1) == widths_.end()) widths_.push_back(1);
  drawer_ = std::make_unique<const Drawer>(space_, widths_);
}

LegalSpace::~LegalSpace() = default;

std::optional<ir::Program> LegalSpace::draw(std::mt19937_64& rng) const {
  for (int i = 0; i < kMostDraws; ++i) {
    const std::optional<Point> point = drawer_->draw(rng);
    if (!point) continue;
    ir::Program p = program_of(space_, *point);
    if (lower::legal(p, target_).empty()) return p;
  }
  return std::nullopt;
}

std::vector<ir::Program> LegalSpace::neighbours(const ir::Program& p) const {
  const Point from = point_of(space_, p);
  std::vector<Point> points;
  add_resized(space_, from, points);
  add_reordered(from, points);
  add_staged(space_, from, points);
  add_widths(space_, from, widths_, points);
  if (space_.reduces) {
    points.push_back(from);
    points.back().prefetch = from.prefetch == 0 ? kPrefetchDistance : 0;
  }
  std::vector<ir::Program> out;
  for (const Point& point : points) {
    if (unrolled(point) > kMostUnrolled) continue;
    ir::Program q = program_of(space_, point);
    if (lower::legal(q, target_).empty()) out.push_back(std::move(q));
  }
  return out;
}

std::vector<ir::Program> LegalSpace::constructed() const {
  std::vector<ir::Program> out;
  for (const Choice& c : choices_for(space_, target_.dialect.known)) {
    ir::Program p = build(space_, c);
    if (lower::legal(p, target_).empty()) out.push_back(std::move(p));
  }
  return out;
}

std::optional<ir::Kernel> LegalSpace::lowered(const ir::Program& p) const {
  Result<ir::Kernel> kernel = lower::lower(p, target_);
  if (!kernel.ok() || statements(kernel->body) > kMostStatements) return std::nullopt;
  return std::move(*kernel);
}

}  // namespace assay::compiler
