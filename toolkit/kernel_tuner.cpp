#include "toolkit/kernel_tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "ir/task_mapping.h"

namespace assay::toolkit {
namespace {

using Kind = ir::MappingStep::Kind;

constexpr const char* kSizes[] = {"MWG",   "NWG",   "KWG", "MDIMC", "NDIMC",
                                  "MDIMA", "NDIMB", "KWI", "VWM",   "VWN"};
constexpr const char* kFlags[] = {"STRM", "STRN", "SA", "SB"};

// Words of the widest load, to which a compiler merges neighbours that are aligned.
constexpr int kWidest = 4;

class Xgemm {
 public:
  Xgemm(const ir::Graph& graph, const XgemmParameters& parameters)
      : graph_(graph), of_(parameters) {}

  Result<ir::Program> run() {
    if (!is_product())
      return error("a row of CLBlast's Xgemm is of the operator matmul, without batches");
    const int m = per_thread("MWG", "MDIMC", "VWM"), n = per_thread("NWG", "NDIMC", "VWN");
    p_.name = "xgemm";
    p_.graph = graph_;
    p_.layouts = {column_major(), ir::row_major(2), column_major()};
    p_.tiles = {tile("scratchpad", at("KWG"), {1, 0, 2}), tile("registers", at("KWI"), {2})};
    if (at("KWG") % at("KWI") != 0) fail("KWI", "KWG", at("KWG"));
    ir::ThreadMapping t{1, 0, {}, {at("VWM"), width_of_b(n), at("VWM")}};
    t.tasks.steps = threads(m, n);
    p_.threads = std::move(t);
    if (at("SA") == 1) stage(0, "MWG", "MDIMA", "VWM", "STRM", column_major());
    if (at("SB") == 1) stage(1, "NWG", "NDIMB", "VWN", "STRN", ir::row_major(2));
    if (!diags_.empty()) return diags_;
    if (Diags faults = ir::verify(p_); !faults.empty()) return faults;
    return std::move(p_);
  }

 private:
  int at(const char* name) const { return of_.at(name); }

  void fail(const std::string& what, const std::string& of, int value) {
    diags_.push_back(error(fmt::format("{} does not divide {} = {}", what, of, value)));
  }

  bool is_product() const {
    return graph_.nodes.size() == 1 && graph_.nodes[0].op == "matmul" &&
           graph_.nodes[0].axes.size() == 3 && graph_.tensors.size() == 3;
  }

  static ir::Layout column_major() { return {{{1, 1, 0}, {0, 1, 0}}, {}}; }

  ir::TileLevel tile(const char* memory, int steps, std::vector<int> order) const {
    return {memory, {at("MWG"), at("NWG"), steps}, std::move(order)};
  }

  int per_thread(const char* tile, const char* threads, const char* width) {
    if (at(tile) % (at(threads) * at(width)) == 0) return at(tile) / at(threads);
    fail(fmt::format("{} * {}", threads, width), tile, at(tile));
    return at(width);
  }

  // Both tiles lie in one array, B's behind A's, which is aligned to A's vectors: a compiler then
  // merges B's neighbours to loads as wide.
  int width_of_b(int together) const {
    const int own = at("VWN"), merged = std::min(at("VWM"), kWidest);
    if (at("SA") == 0 || at("SB") == 0 || own >= merged || at("STRN") == 1) return own;
    return std::gcd(together, merged);
  }

  // Along one axis: a thread's elements together, or vectors of the threads in turns.
  struct Along {
    int turns = 1, own = 1;  // the outer and the inner repetition
  };
  static Along along(int elements, int width, bool strided) {
    return strided ? Along{elements / width, width} : Along{1, elements};
  }

  // Rows along n, columns along m: threads along m vary fastest.
  std::vector<ir::MappingStep> threads(int m, int n) const {
    const Along am = along(m, at("VWM"), at("STRM") == 1),
                an = along(n, at("VWN"), at("STRN") == 1);
    return steps({an.turns, am.turns}, {at("NDIMC"), at("MDIMC")}, {an.own, am.own});
  }

  using Pair = std::pair<int, int>;
  static std::vector<ir::MappingStep> steps(Pair outer, Pair threads, Pair inner) {
    std::vector<ir::MappingStep> out;
    if (outer != Pair{1, 1}) out.push_back({Kind::repeat, outer.first, outer.second});
    out.push_back({Kind::spatial, threads.first, threads.second});
    if (inner != Pair{1, 1}) out.push_back({Kind::repeat, inner.first, inner.second});
    return out;
  }

  // The tile's rows lie along k.
  void stage(int read, const char* tile, const char* threads, const char* width,
             const char* strided, ir::Layout layout) {
    const int all = at("MDIMC") * at("NDIMC");
    if (all % at(threads) != 0) return fail(threads, "MDIMC * NDIMC", all);
    const int rows = all / at(threads), own = per_thread(tile, threads, width);
    if (at("KWG") % rows != 0)
      return fail(fmt::format("MDIMC * NDIMC / {}", threads), "KWG", at("KWG"));
    const Along a = along(own, at(width), at(strided) == 1);
    p_.staging.push_back(
        {read, 0, std::move(layout),
         ir::TaskMapping{steps({1, a.turns}, {rows, at(threads)}, {at("KWG") / rows, a.own})},
         at(width)});
  }

  const ir::Graph& graph_;
  const XgemmParameters& of_;
  ir::Program p_;
  Diags diags_;
};

}  // namespace

Result<XgemmParameters> xgemm_parameters(const std::vector<std::string>& columns,
                                         const std::vector<std::string>& values) {
  XgemmParameters out;
  Diags diags;
  const auto take = [&](const std::string& name, bool flag) {
    const auto found = std::find(columns.begin(), columns.end(), name);
    if (found == columns.end()) {
      diags.push_back(error("the table has no column " + name));
      return;
    }
    const std::string& text = values[static_cast<size_t>(found - columns.begin())];
    int v = -1;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), v);
    const bool number = fault == std::errc() && end == text.data() + text.size();
    if (!number || (flag ? v < 0 || v > 1 : v < 1 || v > 1024))
      diags.push_back(error(fmt::format("{}: found `{}`, expected {}", name, text,
                                        flag ? "0 or 1" : "a number from 1 to 1024")));
    out[name] = v;
  };
  for (const char* name : kSizes) take(name, false);
  for (const char* name : kFlags) take(name, true);
  if (!diags.empty()) return diags;
  return out;
}

Result<ir::Program> xgemm_program(const ir::Graph& graph, const XgemmParameters& parameters) {
  return Xgemm(graph, parameters).run();
}

}  // namespace assay::toolkit
