#include "runtime/source.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "codegen/render.h"

namespace assay::runtime {

std::string symbol_of(const Source& s) { return "k_" + s.hash; }

ir::Kernel named(const ir::Kernel& k, std::string name) {
  ir::Kernel copy = k;
  copy.name = std::move(name);
  return copy;
}

Result<std::vector<Source>> sources_of(std::span<const ir::Kernel> kernels, const codegen::Dialect& dialect,
                                       const std::string& identity, int threads) {
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

Diags check_dialect(const std::string& device, const std::string& dialect, const hwdesc::Target& target) {
  const std::string& wanted = target.api.dialect;
  if (wanted.empty() || wanted == dialect) return {};
  return {error(fmt::format("{} runs dialect '{}', the target is for '{}'", device, dialect, wanted))};
}

}  // namespace assay::runtime
