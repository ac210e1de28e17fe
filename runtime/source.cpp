#include "runtime/source.h"

#include <fmt/format.h>

#include <set>

#include "codegen/computed_types.h"
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
  Diags out;
  const auto check = [&](const ir::Kernel& k, const char* fact, const std::set<ir::DType>& used,
                         const char* does) {
    const std::string has = " " + device.fact(fact) + " ";
    for (const ir::DType t : used) {
      const bool narrow = ir::is_small_float(t) || t == ir::DType::i8 || t == ir::DType::u8 ||
                          ir::numbers_in(t) > 1;
      if (narrow && has.find(fmt::format(" {} ", ir::name_of(t))) == std::string::npos)
        out.push_back(error(fmt::format("kernel '{}' {} {}, which {} does not", k.name, does,
                                        ir::name_of(t), device.id),
                            fmt::format("its `{}`:{}", fact, has)));
    }
  };
  for (const ir::Kernel& k : kernels) {
    std::set<ir::DType> moved;
    for (const ir::Buffer& b : k.buffers) moved.insert(b.dtype);
    check(k, "stores", moved, "loads or stores");
    std::set<ir::DType> computed = codegen::computed_types(k);
    if (!k.instructions.empty())  // their registers, of which check_instructions decides
      std::erase_if(computed, [](ir::DType t) { return ir::numbers_in(t) > 1; });
    check(k, "types", computed, "computes with");
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
