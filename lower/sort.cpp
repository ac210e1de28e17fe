// A sort: keys and their positions in scratch, put in order by a network of compare-exchanges,
// Batcher's merge exchange (Knuth, volume 3, 5.2.2, algorithm M). Which elements meet does not
// depend on their values, so each lane sorts a row of its own.
//
// For p = 1, 2, 4 .. < n, for k = p, p/2 .. 1, elements x and x + k are exchanged, for x < n - k.
// Only pairs within a block of 2 p meet, whose x/k is even where k = p, else odd. These are about
// n log2(n)^2 / 4 exchanges. Blocks of 2 p are walked by a loop. The last one, which may be
// partial, has its own, so that trip counts are constants.
//
// Where few of many terms are wanted, blocks of K >= that many, a power of two, are sorted one
// after the other. Of two sorted blocks x and y, the first of x_i and y_(K-1-i) for all i are the
// first K of both. They are bitonic: log2(K) steps of K/2 exchanges sort them (Batcher, AFIPS'68).
// That is about n log2(K)^2 / 4 exchanges, and scratch for two blocks.
//
// Of a single row, lanes lie along the order: the W lanes of a vector share the terms, lane l gets
// l, l + W, l + 2 W .. Each lane sorts its share as above. Then the upper half of the lanes is
// merged into the lower half, as blocks are, until lane 0 is left: log2(W) merges of the first K.
#include <algorithm>
#include <bit>
#include <utility>

#include "lower/build.h"
#include "lower/kind_body.h"
#include "lower/kinds.h"
#include "lower/nest.h"

namespace assay::lower {

namespace {

constexpr int64_t kFewElements = 32;  // whose loops are worth unrolling

class SortBody : public KindBody {
 public:
  SortBody(Lowering& s, const TileClass& tile, const Place& place)
      : KindBody(s, tile, place),
        sort_(std::get<ir::Sort>(s.anchor.kind)),
        reduce_(static_cast<int>(s.anchor.axes.size()) - 1),
        plan_(sort_plan(s.p)),
        terms_(plan_.terms),
        all_(s.anchor.axes.back().extent),
        keys_(static_cast<int>(s.kernel.buffers.size()) - 2),
        order_(keys_ + 1) {}

  void emit(ir::Block& out) {
    for (const Point& pt : points_) {
      if (plan_.block < terms_) {
        sort_blocks(pt, plan_.block, out);
      } else {
        put_block(pt, ir::constant(0), terms_, 0, out);
        sort_block(terms_, 0, out);
      }
      if (plan_.shares > 1) merge_shares(out);
      emit_order(pt, out);
    }
  }

 private:
  // Elements of `count` lanes from `first` on, as those of as many first lanes.
  struct Slot {
    ir::Index at;  // the number of the vector
    int first = 0, count = 0;
  };
  Slot slot(ir::Index at) const { return {std::move(at), 0, s_.width()}; }

  bool shares() const { return plan_.shares > 1; }

  // The positions of the terms that lanes have at `at`.
  ir::Value number_of(const ir::Index& at) const {
    ir::Value v;
    v.op = ir::ValueOp::lane_index;
    v.lanes = s_.width();
    v.index = at * plan_.shares;
    v.stride = shares() ? 1 : 0;
    return v;
  }

  ir::Value loaded(int buffer, const Slot& from) const {
    ir::Value v;
    v.op = ir::ValueOp::load;
    v.lanes = s_.width();
    v.count = from.count;
    v.id = buffer;
    v.index = from.at * s_.width() + from.first;
    return v;
  }

  void put(int buffer, const Slot& to, ir::Value value, ir::Block& out) const {
    ir::Store st;
    st.id = buffer;
    st.index = to.at * s_.width() + to.first;
    st.count = to.count;
    st.value = std::move(value);
    append(out, std::move(st));
  }

  // Behind all terms: of equal ones the lower position is first.
  ir::Value last() const {
    return constant_value(ir::identity_of(sort_.descending ? ir::Combiner::max : ir::Combiner::min),
                          s_.width());
  }

  // Puts the terms at `at` in scratch at `x`. NaN is ordered as infinity.
  void put_terms(const Point& pt, const ir::Index& at, const ir::Index& x, ir::Block& out) {
    const ir::Index first = at * plan_.shares;
    Place place = moved(place_, reduce_, shares() ? first + ir::variable(s_.lane) : first);
    const ir::Value value = reg_value(assigned("key", term(place, pt), out), s_.width());
    ir::Value key = op_value(ir::ValueOp::select,
                             {op_value(ir::ValueOp::equal, {value, value}), value,
                              constant_value(ir::identity_of(ir::Combiner::min), s_.width())});
    if (shares() && pt.count < s_.width())
      key = op_value(
          ir::ValueOp::select,
          {op_value(ir::ValueOp::less,
                    {number_of(at), constant_value(static_cast<double>(all_), s_.width())}),
           std::move(key), last()});
    put(keys_, slot(x), std::move(key), out);
    put(order_, slot(x), number_of(at), out);
  }

  // The same of lanes that share a row, whose last vector may be partial.
  void put_shares(Point pt, const ir::Index& at, const ir::Index& x, ir::Block& out) {
    const auto rest = static_cast<int>(all_ % plan_.shares);
    pt.count = plan_.shares;
    if (rest == 0 || ir::range_of(at, s_.ranges).high < terms_ - 1)
      return put_terms(pt, at, x, out);
    ir::If whole;
    whole.conditions = {{at, 0, terms_ - 2}};
    put_terms(pt, at, x, whole.then_body);
    pt.count = rest;
    put_terms(pt, at, x, whole.else_body);
    append(out, std::move(whole));
  }

  // Scratch at x and behind it: elements that are none.
  void put_none(int64_t x, int64_t count, ir::Block& out) {
    loop(count, 1, ir::constant(x), out, [&](const ir::Index& at, ir::Block& inside) {
      put(keys_, slot(at), last(), inside);
      put(order_, slot(at), constant_value(static_cast<double>(all_), s_.width()), inside);
    });
  }

  // `count` terms from `first` on, in scratch at `base`.
  void put_block(const Point& pt, const ir::Index& first, int64_t count, int64_t base,
                 ir::Block& out) {
    loop(count, 1, ir::constant(0), out, [&](const ir::Index& i, ir::Block& inside) {
      const ir::Index x = ir::Index(i) + base, at = ir::Index(first) + i;
      shares() ? put_shares(pt, at, x, inside) : put_terms(pt, at, x, inside);
    });
  }

  // Sorts `count` elements from `base` on.
  void sort_block(int64_t count, int64_t base, ir::Block& out) {
    for (int64_t p = 1; p < count; p *= 2)
      for (int64_t k = p; k > 0; k /= 2) emit_stage(count, base, p, k, out);
  }

  // The first `block` terms: what is left of whole blocks and, last in any order, elements that are
  // none, then merged with each block. A power of two takes half the loops of another number.
  void sort_blocks(const Point& pt, int64_t block, ir::Block& out) {
    const int64_t whole = terms_ / block, rest = terms_ % block;
    put_block(pt, ir::constant(whole * block), rest, 0, out);
    put_none(rest, block - rest, out);
    if (rest > 0)
      sort_block(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(rest))), 0, out);
    loop(whole, block, ir::constant(0), out, [&](const ir::Index& first, ir::Block& inside) {
      put_block(pt, first, block, block, inside);
      sort_block(block, block, inside);
      merge_blocks(block, inside);
    });
  }

  // The first `block` elements of those at 0 and at `block`.
  void merge_blocks(int64_t block, ir::Block& out) {
    loop(block, 1, ir::constant(0), out, [&](const ir::Index& x, ir::Block& inside) {
      emit_exchange(slot(x), slot(ir::constant(2 * block - 1) + ir::Index(x) * -1), false, inside);
    });
    sort_bitonic(block, out);
  }

  void sort_bitonic(int64_t block, ir::Block& out) {
    for (int64_t k = block / 2; k > 0; k /= 2)
      loop(block / (2 * k), 2 * k, ir::constant(0), out,
           [&](const ir::Index& first, ir::Block& inside) { emit_run(first, k, k, inside); });
  }

  // The first elements of all shares, in lane 0.
  void merge_shares(ir::Block& out) {
    const int64_t kept = plan_.kept, sorted = plan_.block < terms_ ? plan_.block : terms_;
    put_none(sorted, kept - sorted, out);
    for (int half = plan_.shares / 2; half > 0; half /= 2) {
      loop(kept, 1, ir::constant(0), out, [&](const ir::Index& x, ir::Block& inside) {
        emit_exchange({x, 0, half}, {ir::constant(kept - 1) + ir::Index(x) * -1, half, half}, false,
                      inside);
      });
      sort_bitonic(kept, out);
    }
  }

  void emit_order(const Point& pt, ir::Block& out) {
    walk({sort_.axis}, place_, out, [&](const Place& at, ir::Block& inside) {
      const ir::Index x = at.at[static_cast<size_t>(sort_.axis)];
      if (!shares()) return store(at, pt, loaded(order_, slot(x)), inside);
      store(moved(at, sort_.axis, x + ir::variable(s_.lane, -1)), pt, loaded(order_, {x, 0, 1}),
            inside);
      auto& one = std::get<ir::Store>(inside.back().node);
      one.stride = one.count = 1;
    });
  }

  // Of `count` elements from `base` on, pairs at a distance of k while blocks of p are merged into
  // blocks of 2 p.
  void emit_stage(int64_t count, int64_t base, int64_t p, int64_t k, ir::Block& out) {
    const int64_t whole = count / (2 * p), rest = count % (2 * p);
    loop(whole, 2 * p, ir::constant(base), out, [&](const ir::Index& block, ir::Block& inside) {
      emit_pairs(2 * p, p, k, block, inside);
    });
    if (rest > k) emit_pairs(rest, p, k, ir::constant(base + whole * 2 * p), out);
  }

  // Those of the first `length` elements of a block.
  void emit_pairs(int64_t length, int64_t p, int64_t k, const ir::Index& block, ir::Block& out) {
    if (k == p) return emit_run(block, std::min(p, length - p), k, out);
    // Runs of k pairs at k, 3 k, 5 k ..: those that fit, and what is left of the next one.
    const int64_t runs = p / k - 1, fit = std::clamp<int64_t>((length - k) / (2 * k), 0, runs),
                  left = std::min(k, length - 2 * k - 2 * k * fit);
    loop(fit, 2 * k, block + k, out,
         [&](const ir::Index& first, ir::Block& inside) { emit_run(first, k, k, inside); });
    if (fit < runs && left > 0) emit_run(block + (k + 2 * k * fit), left, k, out);
  }

  // `n` neighbouring pairs at a distance of k.
  void emit_run(const ir::Index& first, int64_t n, int64_t k, ir::Block& out) {
    loop(n, 1, first, out, [&](const ir::Index& x, ir::Block& inside) {
      emit_exchange(slot(x), slot(ir::Index(x) + k), true, inside);
    });
  }

  // `inside` at first, first + step, ...
  template <class Inside>
  void loop(int64_t trips, int64_t step, const ir::Index& first, ir::Block& out,
            const Inside& inside) {
    if (trips <= 0) return;
    if (trips == 1) return inside(first, out);
    ir::For f;
    f.limit = trips;
    if (plan_.block > kFewElements) f.unroll = 1;  // a hundred loops: the compiler's time
    f.var = s_.new_index("x" + std::to_string(s_.ranges.size()), trips);
    inside(ir::Index(first) + ir::variable(f.var, step), f.body);
    append(out, std::move(f));
  }

  int assigned(const char* name, ir::Value value, ir::Block& out) {
    const int reg = s_.new_register(name + std::to_string(s_.kernel.registers.size()), s_.width());
    append(out, ir::Declare{{reg}});
    append(out, ir::Assign{reg, std::move(value)});
    return reg;
  }

  // Swaps the elements at x and y > x where they are not in order; `both`: else y is not used
  // again.
  void emit_exchange(const Slot& x, const Slot& y, bool both, ir::Block& out) {
    using V = ir::ValueOp;
    const int w = s_.width();
    const ir::Value a = reg_value(assigned("a", loaded(keys_, x), out), w),
                    b = reg_value(assigned("b", loaded(keys_, y), out), w),
                    i = reg_value(assigned("i", loaded(order_, x), out), w),
                    j = reg_value(assigned("j", loaded(order_, y), out), w);
    const ir::Value later =
        sort_.descending ? op_value(V::less, {a, b}) : op_value(V::less, {b, a});
    const ir::Value swap = reg_value(
        assigned(
            "swap",
            op_value(V::select, {op_value(V::equal, {a, b}), op_value(V::less, {j, i}), later}),
            out),
        w);
    put(keys_, x, op_value(V::select, {swap, b, a}), out);
    put(order_, x, op_value(V::select, {swap, j, i}), out);
    if (!both) return;
    put(keys_, y, op_value(V::select, {swap, a, b}), out);
    put(order_, y, op_value(V::select, {swap, i, j}), out);
  }

  const ir::Sort& sort_;
  const int reduce_;
  const SortPlan plan_;
  const int64_t terms_, all_;  // of a lane; of a row
  const int keys_, order_;
};

}  // namespace

void emit_sort(Lowering& s, const TileClass& tile, const Place& place, ir::Block& out) {
  SortBody(s, tile, place).emit(out);
}

}  // namespace assay::lower
