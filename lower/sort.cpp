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
#include <algorithm>
#include <utility>

#include "lower/build.h"
#include "lower/kind_body.h"
#include "lower/kinds.h"
#include "lower/nest.h"

namespace assay::lower {

namespace {

class SortBody : public KindBody {
 public:
  SortBody(Lowering& s, const TileClass& tile, const Place& place)
      : KindBody(s, tile, place),
        sort_(std::get<ir::Sort>(s.anchor.kind)),
        reduce_(static_cast<int>(s.anchor.axes.size()) - 1),
        terms_(s.anchor.axes.back().extent),
        keys_(static_cast<int>(s.kernel.buffers.size()) - 2),
        order_(keys_ + 1) {}

  void emit(ir::Block& out) {
    for (const Point& pt : points_) {
      if (const int64_t block = sort_plan(s_.p).block; block < terms_)
        sort_blocks(pt, block, out);
      else
        sort_block(pt, ir::constant(0), terms_, 0, out);
      emit_order(pt, out);
    }
  }

 private:
  ir::Value number_of(const ir::Index& at) const {
    ir::Value v;
    v.op = ir::ValueOp::lane_index;
    v.lanes = s_.width();
    v.index = at;
    return v;
  }

  ir::Value loaded(int buffer, const ir::Index& at) const {
    ir::Value v;
    v.op = ir::ValueOp::load;
    v.lanes = v.count = s_.width();
    v.id = buffer;
    v.index = at * s_.width();
    return v;
  }

  void put(int buffer, const ir::Index& at, ir::Value value, ir::Block& out) const {
    ir::Store st;
    st.id = buffer;
    st.index = at * s_.width();
    st.count = s_.width();
    st.value = std::move(value);
    append(out, std::move(st));
  }

  // Sorts `count` terms from `first` on in scratch at `base`. NaN is ordered as infinity.
  void sort_block(const Point& pt, const ir::Index& first, int64_t count, int64_t base,
                  ir::Block& out) {
    loop(count, 1, ir::constant(0), out, [&](const ir::Index& i, ir::Block& inside) {
      const ir::Index x = ir::Index(i) + base, term_at = ir::Index(first) + i;
      const ir::Value value =
          reg_value(assigned("key", term(moved(place_, reduce_, term_at), pt), inside), s_.width());
      put(keys_, x,
          op_value(ir::ValueOp::select,
                   {op_value(ir::ValueOp::equal, {value, value}), value,
                    constant_value(ir::identity_of(ir::Combiner::min), s_.width())}),
          inside);
      put(order_, x, number_of(term_at), inside);
    });
    for (int64_t p = 1; p < count; p *= 2)
      for (int64_t k = p; k > 0; k /= 2) emit_stage(count, base, p, k, out);
  }

  // The first `block` terms: what is left of whole blocks and, last in any order, elements that are
  // none, then merged with each block.
  void sort_blocks(const Point& pt, int64_t block, ir::Block& out) {
    const int64_t whole = terms_ / block, rest = terms_ % block;
    if (rest > 0) sort_block(pt, ir::constant(whole * block), rest, 0, out);
    const double last = ir::identity_of(sort_.descending ? ir::Combiner::max : ir::Combiner::min);
    loop(block - rest, 1, ir::constant(rest), out, [&](const ir::Index& x, ir::Block& inside) {
      put(keys_, x, constant_value(last, s_.width()), inside);
      put(order_, x, number_of(ir::constant(terms_)), inside);
    });
    loop(whole, block, ir::constant(0), out, [&](const ir::Index& first, ir::Block& inside) {
      sort_block(pt, first, block, block, inside);
      merge_blocks(block, inside);
    });
  }

  // The first `block` elements of those at 0 and at `block`.
  void merge_blocks(int64_t block, ir::Block& out) {
    loop(block, 1, ir::constant(0), out, [&](const ir::Index& x, ir::Block& inside) {
      emit_exchange(x, ir::constant(2 * block - 1) + ir::Index(x) * -1, false, inside);
    });
    for (int64_t k = block / 2; k > 0; k /= 2)
      loop(block / (2 * k), 2 * k, ir::constant(0), out,
           [&](const ir::Index& first, ir::Block& inside) { emit_run(first, k, k, inside); });
  }

  void emit_order(const Point& pt, ir::Block& out) {
    walk({sort_.axis}, place_, out, [&](const Place& at, ir::Block& inside) {
      store(at, pt, loaded(order_, at.at[static_cast<size_t>(sort_.axis)]), inside);
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
      emit_exchange(x, ir::Index(x) + k, true, inside);
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
  void emit_exchange(const ir::Index& x, const ir::Index& y, bool both, ir::Block& out) {
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
  const int64_t terms_;
  const int keys_, order_;
};

}  // namespace

void emit_sort(Lowering& s, const TileClass& tile, const Place& place, ir::Block& out) {
  SortBody(s, tile, place).emit(out);
}

}  // namespace assay::lower
