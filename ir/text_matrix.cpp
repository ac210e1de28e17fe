#include "ir/text_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ir/text_layout.h"

namespace assay::ir {
namespace {

using yaml::Node;

constexpr int kLargest = 1024;  // m, n or k

int size(yaml::Reader& r, const Node& shape, std::string_view key) {
  const Node* n = r.need(shape, key);
  return n == nullptr ? 1 : static_cast<int>(r.number(*n, kLargest));
}

DType type(yaml::Reader& r, const Node& map, std::string_view key, DType otherwise) {
  const Node* n = map.find(key);
  if (n == nullptr) return otherwise;
  if (const auto t = parse_element_type(r.text_of(*n))) return *t;
  r.fail(*n, fmt::format("unknown element type '{}'", n->scalar),
         "f32 f64 f16 bf16 f8e4m3 f8e5m2 i8 u8 i32, or f16x2 bf16x2 of registers");
  return otherwise;
}

// Every element is held by the same number of workers.
void cover(yaml::Reader& r, const Node& at, const TaskMapping& m, int rows, int cols) {
  if (m.rows() != rows || m.cols() != cols)
    return r.fail(at,
                  fmt::format("the mapping is of a matrix of {} x {}, expected {} x {}", m.rows(),
                              m.cols(), rows, cols),
                  "its rows and columns are the products of those of its steps");
  std::vector<int> held(static_cast<size_t>(rows) * static_cast<size_t>(cols), 0);
  for (int w = 0; w < m.workers(); ++w)
    for (int i = 0; i < m.items(); ++i) {
      const Task t = m.task(w, i);
      ++held[static_cast<size_t>(t.row * cols + t.col)];
    }
  if (std::any_of(held.begin(), held.end(), [&](int n) { return n != held[0]; }))
    r.fail(at, "some elements are held more often than others");
}

// The layouts of an opaque fragment, by name. Its register has a lane for each element.
void memory(yaml::Reader& r, const Node& at, int rows, int cols, Fragment& f) {
  const std::vector<int64_t> shape{rows, cols};
  if (at.kind != Node::Kind::map || at.entries.empty())
    return r.fail(at, "expected a map from names of layouts to layouts",
                  "{row: \"[0, 1]\", col: \"[1, 0]\"}: 0 are rows, 1 columns");
  for (const yaml::Entry& e : at.entries) {
    auto layout = parse_layout(r.text_of(e.value));
    if (!layout) {
      r.fail(e.value, layout.diags()[0].message, layout.diags()[0].hint);
      continue;
    }
    std::string fault = is_padded(*layout) ? "it is padded" : layout_fault(*layout, shape);
    if (fault.empty() && physical_elements(*layout, shape) != int64_t{rows} * cols)
      fault = fmt::format("its blocks do not divide {} x {}", rows, cols);
    if (!fault.empty()) r.fail(e.value, fmt::format("no layout of the fragment: {}", fault));
    f.memory.push_back({e.key, std::move(layout).value()});
  }
  f.mapping.steps = {{MappingStep::Kind::spatial, rows, cols}};
}

// Every run is of one lane, and all are of one length.
TaskMapping runs(yaml::Reader& r, const Node& at, const Fragment& f, bool rows, int length,
                 int across) {
  auto parsed = parse_mapping(r.text_of(at));
  if (!parsed) {
    r.fail(at, parsed.diags()[0].message, parsed.diags()[0].hint);
    return {};
  }
  const int along = rows ? parsed->cols() : parsed->rows(),
            lines = rows ? parsed->rows() : parsed->cols();
  if (lines != across || length % along != 0)
    r.fail(at, fmt::format("{} x {} runs, where the fragment has {} lines of {} elements",
                           parsed->rows(), parsed->cols(), across, length));
  else if (parsed->items() != 1 || parsed->workers() != parsed->rows() * parsed->cols())
    r.fail(at, "each run has a lane of its own", "steps of spatial or spatial_by_column");
  else if (parsed->workers() > f.mapping.workers())
    r.fail(at, fmt::format("{} runs, of {} lanes", parsed->workers(), f.mapping.workers()));
  return std::move(parsed).value();
}

Fragment fragment(yaml::Reader& r, const Node& root, const char* key, int rows, int cols) {
  Fragment f;
  const Node* n = r.need(root, key);
  if (n == nullptr) return f;
  r.only_keys(*n, {"dtype", "in", "reads", "mapping", "memory", "by_row", "by_column"});
  if (r.need(*n, "dtype") != nullptr) f.number = f.element = type(r, *n, "dtype", DType::f32);
  f.element = type(r, *n, "in", f.number);
  if (const Node* reads = n->find("reads")) {
    r.word(*n, "reads", {"tf32"});
    f.tf32 = true;
    if (f.number != DType::f32) r.fail(*reads, "tf32 is how f32 is read");
  }
  if (numbers_in(f.number) > 1)
    r.fail(*n, fmt::format("{} holds two numbers", name_of(f.number)),
           fmt::format("dtype: {}, in: {}", name_of(number_type(f.number)), name_of(f.number)));
  const Node* mapping = n->find("mapping");
  if (const Node* m = n->find("memory")) {
    if (mapping != nullptr) r.fail(*m, "a fragment of lanes has no layouts in memory");
    if (n->find("in") != nullptr) r.fail(*m, "elements of an opaque fragment share no register");
    memory(r, *m, rows, cols, f);
    return f;
  }
  if (mapping == nullptr) return f;
  auto parsed = parse_mapping(r.text_of(*mapping));
  if (!parsed) {
    r.fail(*mapping, parsed.diags()[0].message, parsed.diags()[0].hint);
    return f;
  }
  f.mapping = std::move(parsed).value();
  cover(r, *mapping, f.mapping, rows, cols);
  for (const bool along_rows : {true, false})
    if (const Node* given = n->find(along_rows ? "by_row" : "by_column"))
      (along_rows ? f.by_row : f.by_column) =
          runs(r, *given, f, along_rows, along_rows ? cols : rows, along_rows ? rows : cols);
  const int per = f.per_register();
  const bool fits = per == 1 ? f.element == f.number
                             : bytes_of(f.element) == 4 &&
                                   (f.element == DType::i32 || number_type(f.element) == f.number);
  if (per < 1 || !fits)
    r.fail(*n,
           fmt::format("elements of type {} do not hold {}", name_of(f.element), name_of(f.number)),
           "`in` is the type of the registers: f16x2 of f16, i32 of bytes");
  else if (f.mapping.items() % per != 0)
    r.fail(*mapping, fmt::format("a worker has {} elements, which do not fill registers of {}",
                                 f.mapping.items(), per));
  return f;
}

}  // namespace

MatrixInstruction read_instruction(yaml::Reader& r, const Node& root) {
  MatrixInstruction i;
  i.name = r.text(root, "name");
  if (const Node* shape = r.need(root, "shape")) {
    r.only_keys(*shape, {"m", "n", "k"});
    i.m = size(r, *shape, "m");
    i.n = size(r, *shape, "n");
    i.k = size(r, *shape, "k");
  }
  const auto count = [&](const char* key, int& to) {
    if (const Node* n = root.find(key)) to = static_cast<int>(r.number(*n, kLargest));
  };
  count("registers", i.registers);
  if (const Node* align = root.find("align")) {
    r.only_keys(*align, {"address", "stride"});
    i.address = size(r, *align, "address");
    i.stride = size(r, *align, "stride");
  }
  i.a = fragment(r, root, "a", i.m, i.k);
  i.b = fragment(r, root, "b", i.k, i.n);
  i.c = fragment(r, root, "c", i.m, i.n);
  for (const auto& [key, f] : {std::pair<const char*, const Fragment&>{"a", i.a}, {"b", i.b}}) {
    const Node* n = root.find(key);
    if (n == nullptr || has_error(r.diags)) continue;
    if (f.mapping.steps.empty() != i.c.mapping.steps.empty() || f.memory.empty() == i.opaque())
      r.fail(*n, "of a, b and c only some have a mapping, or layouts in memory",
             "give the same for all of them, or none");
    else if (!i.opaque() && f.mapping.workers() != i.workers())
      r.fail(*n,
             fmt::format("it is held by {} workers, c by {}", f.mapping.workers(), i.workers()));
  }
  return i;
}

}  // namespace assay::ir
