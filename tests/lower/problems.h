// Random small tensor programs for tests of lowering and of the model. Shapes hold primes and ones;
// programs are choices of construction or random legal ones.
#pragma once

#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "compiler/search/space.h"
#include "hwdesc/target.h"
#include "ir/program.h"

namespace assay::test {

// A made-up CPU: `width` lanes, `units` units, 32 registers, three caches.
hwdesc::Target small_cpu(int width, int units);

// A made-up GPU: waves of `width` lanes that are threads, and 4 units with a scratchpad each.
hwdesc::Target small_gpu(int width);

// A random problem of a random kind; its name says which.
compiler::Problem random_problem(std::mt19937& rng, int width);

// Operands of i8, u8 and i32, `mixed`: some of f32; what stays in registers is i32 where it can be.
void give_whole_types(ir::Graph& g, std::mt19937& rng, bool mixed);

// The same of a scan, a scatter, a sort or a tuple reduction.
compiler::Problem random_kind_problem(std::mt19937& rng);

// Values for the graph's inputs in order. Positions in tables of up to 37: most inside, some
// negative, some outside. Of a sort some are equal.
std::vector<std::vector<float>> random_inputs(const ir::Graph& g, std::mt19937& rng);

// A random program for the problem: one of the choices of construction, or a random legal one.
ir::Program random_program(const compiler::Problem& problem, const hwdesc::Target& target,
                           std::mt19937& rng);

// The same for groups of waves: choices of construction, some with other tiles, some with fewer
// operands staged.
ir::Program random_wave_program(const compiler::Problem& problem, const hwdesc::Target& target,
                                std::mt19937& rng);

// Calls f(logical row-major position, physical offset) for every element of a tensor.
void each_element(const ir::Layout& layout, const std::vector<int64_t>& shape,
                  const std::function<void(size_t, size_t)>& f);

// What the program computes, by the float64 reference, and by interpreting its loop kernel on the
// same inputs. `difference`: the largest |kernel - reference| / (|reference| + 1) over the output.
struct Comparison {
  double difference = 0;
  std::string fault;  // non-empty: the kernel could not be made or run
};
Comparison compare(const ir::Program& p, const hwdesc::Target& target, std::mt19937& rng);
Comparison compare(const ir::Program& p, const hwdesc::Target& target,
                   const std::vector<std::vector<float>>& inputs);

// The kernel's arguments with these inputs, NaN in the outputs, and how far an output is from the
// reference: the program's own, or all that the last arguments are.
std::vector<std::vector<float>> arguments_for(const ir::Program& p,
                                              const std::vector<std::vector<float>>& inputs);
Comparison compare_outputs(const ir::Program& p, const std::vector<std::vector<float>>& inputs,
                           std::span<const std::vector<float>> arguments);
Comparison compare_output(const ir::Program& p, const std::vector<std::vector<float>>& inputs,
                          const std::vector<float>& output);

}  // namespace assay::test
