// Statements and blocks.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/printer.h"

namespace assay::codegen {
namespace {

// Declares a loop's opaque pointers at the top of its body, where the dialect spells them.
void name_opaque(Printer& p, const ir::For& s) {
  if (p.threads > 1) return;
  for (OpaquePointer& pointer : opaque_pointers(p.kernel, s)) {
    const ir::Buffer& b = p.buffer(pointer.buffer);
    const std::string word = b.scope == ir::Scope::scratch ? "opaque_scratch" : "opaque_in",
                      name = fmt::format("w{}", p.temporaries);
    if (!p.has(word)) continue;
    ++p.temporaries;
    p.line("  " + p.spell(word, {{"name", {name}},
                                 {"scalar", {p.scalar_name(b.dtype)}},
                                 {"pointer", print_address(p, pointer.buffer, pointer.place)}})
                      .text);
    p.opaque_pointers.emplace_back(std::move(pointer), name);
  }
}

void print(Printer& p, const ir::For& s) {
  const std::string& name = p.index_names[static_cast<size_t>(s.var)];
  const std::string& type = p.dialect.index_type;
  Text end{std::to_string(s.limit)};
  int64_t high = s.limit;
  for (const ir::Index& bound : s.bounds) {
    const ir::Range range = ir::range_of(bound, p.ranges);
    if (range.low >= s.limit) continue;  // never the smaller one
    high = std::min(high, range.high);
    end = p.spell("index_min", {{"a", end}, {"b", print_index(p, bound)}});
  }
  if (end.text != std::to_string(s.limit)) {
    p.line(fmt::format("const {} {}_end = {};", type, name, end.text));
    end.text = name + "_end";
  }
  p.ranges[static_cast<size_t>(s.var)] = {0, std::max<int64_t>(0, high - 1)};
  if (p.has("loop")) p.line(p.spell("loop", {}).text);
  if (s.unroll > 0 && p.has("unroll"))
    p.line(p.spell("unroll", {{"n", {std::to_string(s.unroll)}}}).text);
  // The check whether the loop completed reads its variable after the loop.
  const bool checked = p.has("loop_check");
  if (checked) p.line(fmt::format("{} {} = 0;", type, name));
  p.line(checked
             ? fmt::format("for (; {} < {}; ++{}) {{", name, end.text, name)
             : fmt::format("for ({} {} = 0; {} < {}; ++{}) {{", type, name, name, end.text, name));
  name_opaque(p, s);
  print_block(p, s.body);
  p.opaque_pointers.clear();
  p.line("}");
  if (checked) p.line(p.spell("loop_check", {{"name", {name}}, {"end", end}}).text);
}

void print(Printer& p, const ir::If& s) {
  const std::string condition = print_conditions(p, s.conditions);
  p.line(condition.empty() ? "{" : fmt::format("if ({}) {{", condition));
  print_block(p, s.then_body);
  if (!condition.empty() && !s.else_body.empty()) {
    p.line("} else {");
    print_block(p, s.else_body);
  }
  p.line("}");
}

void print(Printer& p, const ir::LetIndex& s) {
  p.line(fmt::format("const {} {} = {};", p.dialect.index_type,
                     p.index_names[static_cast<size_t>(s.var)], print_index(p, s.value).text));
  p.ranges[static_cast<size_t>(s.var)] = ir::range_of(s.value, p.ranges);
}

void print(Printer& p, const ir::Locate& s) {
  const ir::DType stored = p.buffer(s.id).dtype, wide = ir::accumulation_of(stored);
  const Text number = print_read(p, s.id, ir::converts(stored, wide) ? wide : stored,
                                 print_element(p, s.id, s.index));
  const Text place =
      p.spell("index_place", {{"a", number}, {"extent", {std::to_string(s.extent)}}});
  p.line(fmt::format("const {} {} = {};", p.dialect.index_type,
                     p.index_names[static_cast<size_t>(s.var)], place.text));
  p.ranges[static_cast<size_t>(s.var)] = {-1, s.extent - 1};
}

void print(Printer& p, const ir::Assign& s) {
  if (is_opaque(p, s.reg)) return print_zeroed(p, s.reg);
  Text value = print_value(p, s.value);
  if (p.pinned[static_cast<size_t>(s.reg)] && p.has("pin"))
    value = p.spell("pin", {{"a", value}, {"type", {p.type_name(s.value.dtype, s.value.lanes)}}});
  p.line(fmt::format("{} = {};", p.register_names[static_cast<size_t>(s.reg)], value.text));
}

// Neighbours of one type share a line.
void print(Printer& p, const ir::Declare& s) {
  std::string type, names;
  for (const int id : s.regs) {
    if (is_opaque(p, id)) {
      print_declared(p, id);
      continue;
    }
    const ir::Register& r = p.kernel.registers[static_cast<size_t>(id)];
    const std::string this_type = p.type_name(r.dtype, r.lanes);
    if (this_type != type && !names.empty()) p.line(fmt::format("{} {};", type, names));
    if (this_type != type) names.clear();
    type = this_type;
    names += (names.empty() ? "" : ", ") + p.register_names[static_cast<size_t>(id)];
  }
  if (!names.empty()) p.line(fmt::format("{} {};", type, names));
}

// Lane by lane, from a named temporary.
void print_scatter(Printer& p, const ir::Store& s) {
  const Text name{fmt::format("t{}", p.temporaries++)};
  p.line(fmt::format("const {} {} = {};", p.type_name(p.buffer(s.id).dtype, s.value.lanes),
                     name.text, print_stored(p, s.id, s.value).text));
  for (int l = 0; l < s.count; ++l) {
    const Text lane = print_written(p, s.id, print_lane(p, name, l));
    p.line(fmt::format("{} = {};", print_element(p, s.id, s.index + l * s.stride).text, lane.text));
  }
}

void print(Printer& p, const ir::Store& s) {
  const int lanes = s.value.lanes;
  if (lanes == 1) {
    p.line(fmt::format("{} = {};", print_element(p, s.id, s.index).text,
                       print_written(p, s.id, print_stored(p, s.id, s.value)).text));
    return;
  }
  const bool whole = s.count == lanes;
  if (s.stride != 1 || is_single(p, s.id) || (!whole && !p.has("store_part")))
    return print_scatter(p, s);
  std::vector<Filling> fillings{{"pointer", print_address(p, s.id, s.index)},
                                {"value", print_stored(p, s.id, s.value)},
                                {"type", {p.type_name(p.buffer(s.id).dtype, lanes)}},
                                {"lanes", {std::to_string(lanes)}},
                                {"count", {std::to_string(s.count)}}};
  const bool stream = whole && s.hint != ir::CacheHint::none && p.has("store_stream");
  p.line(p.spell(!whole ? "store_part" : stream ? "store_stream" : "store", fillings).text);
}

// Runs in registers of their own, so that all loads are under way before the first store waits.
class RunPrinter {
 public:
  RunPrinter(Printer& p, const ir::Copy& s)
      : p_(p),
        s_(s),
        whole_(p.has("run") && s.numbers > 1 && !is_single(p, s.from)),
        bytes_(s.numbers * ir::bytes_of(p.buffer(s.from).dtype)) {}

  void print() {
    for (size_t i = 0; i < s_.runs.size(); ++i)
      names_.push_back(fmt::format("t{}", p_.temporaries++));
    for (size_t i = 0; i < s_.runs.size(); ++i) load(s_.runs[i], names_[i]);
    for (size_t i = 0; i < s_.runs.size(); ++i) store(s_.runs[i], names_[i]);
  }

 private:
  // One statement for the run, or one for each of its elements.
  template <class Body>
  void where(const ir::Run& r, const Body& body) {
    const std::string condition = print_conditions(p_, r.conditions);
    if (!condition.empty()) p_.line(fmt::format("if ({}) {{", condition));
    p_.depth += condition.empty() ? 0 : 1;
    for (int i = 0; i < (whole_ ? 1 : s_.numbers); ++i) body(i);
    p_.depth -= condition.empty() ? 0 : 1;
    if (!condition.empty()) p_.line("}");
  }

  std::string part(const std::string& name, int i) const {
    return whole_ ? name : fmt::format("{}_{}", name, i);
  }

  void load(const ir::Run& r, const std::string& name) {
    const ir::DType type = p_.buffer(s_.from).dtype;
    std::string names;
    for (int i = 0; i < (whole_ ? 1 : s_.numbers); ++i)
      names += (i > 0 ? ", " : "") + part(name, i);
    const std::string run = whole_ ? p_.spell("run", {{"bytes", {std::to_string(bytes_)}}}).text
                                   : p_.type_name(type, 1);
    p_.line(fmt::format("{} {};", run, names));
    where(r, [&](int i) {
      const Text value =
          whole_ ? p_.spell("load_run",
                            {{"run", {run}}, {"pointer", print_address(p_, s_.from, r.from)}})
                 : print_read(p_, s_.from, type, print_element(p_, s_.from, r.from + i));
      p_.line(fmt::format("{} = {};", part(name, i), value.text));
    });
  }

  void store(const ir::Run& r, const std::string& name) {
    where(r, [&](int i) {
      if (!whole_)
        return p_.line(
            fmt::format("{} = {};", print_element(p_, s_.to, r.to + i).text, part(name, i)));
      p_.line(
          p_.spell("store_run", {{"run", p_.spell("run", {{"bytes", {std::to_string(bytes_)}}})},
                                 {"pointer", print_address(p_, s_.to, r.to)},
                                 {"value", {name}}})
              .text);
    });
  }

  Printer& p_;
  const ir::Copy& s_;
  const bool whole_;
  const int bytes_;
  std::vector<std::string> names_;
};

void print(Printer& p, const ir::Copy& s) { RunPrinter(p, s).print(); }

// By a vector of the language, else element by element.
void move_run(Printer& p, const ir::MoveRun& s) {
  const auto n = static_cast<int>(s.regs.size());
  const ir::DType type = p.buffer(s.id).dtype;
  const auto& widths = p.dialect.capabilities.vector_widths;
  const bool whole =
      n > 1 && !is_single(p, s.id) && std::find(widths.begin(), widths.end(), n) != widths.end();
  const auto name = [&](int i) -> const std::string& {
    return p.register_names[static_cast<size_t>(s.regs[static_cast<size_t>(i)])];
  };
  for (int i = 0; i < (whole ? 0 : n); ++i) {
    const Text at = print_element(p, s.id, s.index + i);
    p.line(s.store ? fmt::format("{} = {};", at.text, print_written(p, s.id, {name(i)}).text)
                   : fmt::format("{} = {};", name(i), print_read(p, s.id, type, at).text));
  }
  if (!whole) return;
  std::vector<Filling> fillings{{"pointer", print_address(p, s.id, s.index)},
                                {"type", {p.type_name(type, n)}},
                                {"lanes", {std::to_string(n)}}};
  if (s.store) {
    std::string items;
    for (int i = 0; i < n; ++i) items += (i > 0 ? ", " : "") + name(i);
    fillings.emplace_back("value",
                          p.spell("list", {{"items", {items}}, {"type", {p.type_name(type, n)}}}));
    return p.line(p.spell("store", fillings).text);
  }
  const Text vector{fmt::format("t{}", p.temporaries++)};
  p.line(fmt::format("const {} {} = {};", p.type_name(type, n), vector.text,
                     p.spell("load", fillings).text));
  for (int i = 0; i < n; ++i)
    p.line(fmt::format("{} = {};", name(i), print_lane(p, vector, i).text));
}

void print(Printer& p, const ir::MoveRun& s) {
  const std::string condition = print_conditions(p, s.conditions);
  if (condition.empty()) return move_run(p, s);
  const auto inside = [&](const auto& body) {
    ++p.depth;
    body();
    --p.depth;
  };
  p.line(fmt::format("if ({}) {{", condition));
  inside([&] { move_run(p, s); });
  if (!s.store) {
    p.line("} else {");
    inside([&] {
      for (const int r : s.regs)
        p.line(fmt::format("{} = {};", p.register_names[static_cast<size_t>(r)],
                           print_number(p, p.buffer(s.id).dtype, 0).text));
    });
  }
  p.line("}");
}

void print(Printer& p, const ir::Prefetch& s) {
  if (p.has("prefetch"))
    p.line(p.spell("prefetch", {{"pointer", print_address(p, s.id, s.index)}}).text);
}

void print(Printer& p, const ir::Keep& s) {
  const ir::Register& r = p.kernel.registers[static_cast<size_t>(s.reg)];
  p.line(p.spell("keep", {{"name", {p.register_names[static_cast<size_t>(s.reg)]}},
                          {"type", {p.type_name(r.dtype, r.lanes)}}})
             .text);
}

void print(Printer& p, const ir::Barrier& s) {
  const bool global = s.global && p.has("barrier_global");
  p.line(p.spell(global ? "barrier_global" : "barrier",
                 {{"lanes", {std::to_string(p.threads * p.kernel.waves)}}})
             .text);
}

// Lane by lane, in order.
void print(Printer& p, const ir::AtomicAdd& s) {
  const int lanes = s.value.lanes;
  Text value = print_value(p, s.value);
  if (lanes > 1) {
    const Text name{fmt::format("t{}", p.temporaries++)};
    p.line(
        fmt::format("const {} {} = {};", p.type_name(s.value.dtype, lanes), name.text, value.text));
    value = name;
  }
  const std::string to = s.reg < 0 ? "" : p.register_names[static_cast<size_t>(s.reg)];
  for (int l = 0; l < lanes; ++l) {
    const Text added =
        p.spell("atomic_add", {{"buffer", {p.buffer_name(s.id)}},
                               {"index", print_index(p, s.index + l * s.stride)},
                               {"value", lanes > 1 ? print_lane(p, value, l) : value}});
    const std::string target = to.empty() || lanes == 1 ? to : print_lane(p, {to}, l).text;
    p.line((target.empty() ? "" : target + " = ") + added.text + ";");
  }
}

// Atomic arrival counter: each group adds 1, then polls with additions of 0 until the counter
// reaches `all` or its polls are used up.
void print(Printer& p, const ir::DeviceBarrier& s) {
  const std::string found = fmt::format("t{}", p.temporaries++),
                    &looks = p.register_names[static_cast<size_t>(s.looks)];
  const std::string all = print_value(p, s.all).text;
  const auto added = [&](const char* value) {
    return p
        .spell("atomic_add", {{"buffer", {p.buffer_name(s.id)}},
                              {"index", print_index(p, s.index)},
                              {"value", {value}}})
        .text;
  };
  const std::string fence = p.spell("device_fence", {}).text;
  p.line(fence);
  p.line(fmt::format("{} {} = {};", p.type_name(ir::DType::i32, 1), found, added("1")));
  p.line(fmt::format("for (; {} < ({}) && {} > 0; --{}) {} = {};", found, all, looks, looks, found,
                     added("0")));
  p.line(fmt::format("if ({} < ({})) {} = 0;", found, all, looks));
  p.line(fence);
}

}  // namespace

// Behind a loop that registers of the block live across: loads that follow stay there. A compiler
// that hoists them from the loops around (a bias, the same for all tiles) keeps their values beside
// the accumulators, which then do not fit the registers. g++ 12 did: a convolution took 2.5 times
// as long.
void print_block(Printer& p, const ir::Block& block) {
  const int outside = p.numbered;
  ++p.depth;
  bool declared = false;
  for (const ir::Stmt& s : block) {
    std::visit([&](const auto& node) { print(p, node); }, s.node);
    declared |= std::holds_alternative<ir::Declare>(s.node);
    if (declared && std::holds_alternative<ir::For>(s.node) && p.has("loads_stay"))
      p.line(p.spell("loads_stay", {}).text);
  }
  --p.depth;
  p.numbered = outside;
}

}  // namespace assay::codegen
