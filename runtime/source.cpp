#include "runtime/source.h"

#include <fmt/format.h>

#include <set>

#include "codegen/isa.h"
#include "codegen/render.h"
#include "support/hash.h"

namespace assay::runtime {

std::string symbol_of(const Source& s) { return "k_" + s.hash; }

ir::Kernel named(const ir::Kernel& k, std::string name) {
  ir::Kernel copy = k;
  copy.name = std::move(name);
  return copy;
}

Result<std::vector<Source>> sources_of(std::span<const ir::Kernel> kernels,
                                       const codegen::Dialect& dialect, const std::string& identity,
                                       int threads) {
  std::vector<Source> out;
  Diags diags;
  for (const ir::Kernel& k : kernels) {
    const std::vector<ir::Kernel> one{named(k, "k")};
    const auto text = codegen::render(one, dialect, threads);
    if (text) {
      out.push_back({hash_hex(identity + '\n' + *text), text->size()});
      continue;
    }
    for (Diag d : text.diags()) {
      const size_t at = d.message.find("kernel 'k'");
      if (at != std::string::npos) d.message.replace(at, 10, "kernel '" + k.name + "'");
      diags.push_back(std::move(d));
    }
  }
  if (has_error(diags)) return diags;
  return out;
}

Diags check_waves(const std::string& device, std::span<const ir::Kernel> kernels, int threads,
                  int64_t most) {
  Diags diags;
  for (const ir::Kernel& k : kernels)
    if (int64_t{threads} * k.waves > most)
      diags.push_back(error(
          fmt::format("kernel '{}' has {} waves of {} threads in a group, {} allows {} threads",
                      k.name, k.waves, threads, device, most)));
  return diags;
}

Diags check_types(const DeviceInfo& device, std::span<const ir::Kernel> kernels) {
  const std::string has = " " + device.fact("types") + " ";
  const auto lacks = [&](ir::DType t) {
    const bool narrow =
        t == ir::DType::f16 || t == ir::DType::bf16 || t == ir::DType::i8 || ir::numbers_in(t) > 1;
    return narrow && has.find(fmt::format(" {} ", ir::name_of(t))) == std::string::npos;
  };
  Diags out;
  for (const ir::Kernel& k : kernels) {
    std::set<ir::DType> used;
    for (const ir::Buffer& b : k.buffers) used.insert(b.dtype);
    for (const ir::Register& r : k.registers) used.insert(r.dtype);
    for (const ir::DType t : used)
      if (lacks(t))
        out.push_back(error(fmt::format("kernel '{}' computes with {}, which {} does not", k.name,
                                        ir::name_of(t), device.id)));
  }
  return out;
}

Diags check_instructions(const DeviceInfo& device, std::span<const ir::Kernel> kernels) {
  Diags out;
  for (const ir::Kernel& k : kernels)
    for (const ir::MatrixInstruction& i : k.instructions) {
      const auto known = codegen::find_instruction(i.name);
      if (!known) {
        out.push_back(known.diags()[0]);
        continue;
      }
      const auto spelling = known->spellings.find(dialect_of(device));
      if (spelling == known->spellings.end() ||
          !codegen::has_needs(spelling->second.needs, device.facts))
        out.push_back(
            error(fmt::format("kernel '{}' uses matrix instruction '{}', which {} does not have",
                              k.name, i.name, device.id)));
    }
  return out;
}

Diags check_dialect(const std::string& device, const std::string& dialect,
                    const hwdesc::Target& target) {
  const std::string& wanted = target.api.dialect;
  if (wanted.empty() || wanted == dialect) return {};
  return {
      error(fmt::format("{} runs dialect '{}', the target is for '{}'", device, dialect, wanted))};
}

}  // namespace assay::runtime
