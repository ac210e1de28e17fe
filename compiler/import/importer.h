// The import of one model, part by part: import_onnx.cpp has their order, import_inputs.cpp the
// graph's inputs, import_nodes.cpp its nodes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/import/context.h"
#include "compiler/import/inline.h"
#include "compiler/import/node_order.h"
#include "compiler/import/operators.h"

namespace assay::import {

// Of ONNX itself.
inline bool is_onnx(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

class Importer {  // invariant: a name is in failed_ when what defines it was refused
 public:
  Importer(const onnx::ModelProto& model, std::string_view file, const OnnxOptions& options);

  Result<ir::Graph> run();
  const Diags& notes() const { return notes_; }

 private:
  void report(std::string message, std::string hint = "");
  void report(const std::string& subject, const Refusal& refusal);
  void note(std::string message, std::string hint = "");
  template <class F>
  bool attempt(F f, const std::string& name) {
    try {
      f();
      return true;
    } catch (const Refusal& refusal) {
      report("value " + name, refusal);
      failed_.insert(name);
      return false;
    }
  }

  int64_t read_opset(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& sets,
                     int64_t otherwise);
  void read_functions();
  void read_initialisers();
  void add_initialiser(const onnx::TensorProto& t, const std::string& name);
  void add_output(const std::string& name);
  int copy_of(int from, const std::string& name);
  Result<ir::Graph> finish();

  // import_inputs.cpp
  void read_inputs();
  void check_dims();
  void check_shapes();
  void add_input(const onnx::ValueInfoProto& v);
  Shape shape_of(const onnx::ValueInfoProto& v) const;
  int64_t extent_of(const onnx::ValueInfoProto& v, int dim) const;

  // import_nodes.cpp
  void add_nodes(const Nodes& nodes);
  void add_node(const onnx::NodeProto& n);
  void add_operator(const onnx::NodeProto& n);
  bool add_on_integers(const onnx::NodeProto& n, const Operator& op);
  void add_call(const onnx::NodeProto& n, const onnx::FunctionProto& f);
  void add_inlined(const onnx::NodeProto& n, const Inlined& body);
  void add_contents(const Inlined& body);
  void bind_result(const onnx::NodeProto& n, int output, const std::string& inner, int first);
  const onnx::FunctionProto* function_of(const onnx::NodeProto& n) const;
  bool inputs_known(const onnx::NodeProto& n);
  void report_undefined(const onnx::NodeProto& n, const std::string& name);
  void report_cycle(const Nodes& cycle);
  void fail(const onnx::NodeProto& n);
  std::string fresh_prefix(const onnx::NodeProto& n);

  // import_control.cpp, import_scan.cpp, trips.cpp
  class Trips;
  bool add_control_flow(const onnx::NodeProto& n);  // false: it is another operator
  void add_if(const onnx::NodeProto& n);
  void add_both_branches(const onnx::NodeProto& n);
  std::vector<int> add_branch(const onnx::NodeProto& n, const std::string& name);
  void note_chosen();
  void add_loop(const onnx::NodeProto& n);
  void add_scan(const onnx::NodeProto& n);
  void add_batched_scan(Trips& trips, const std::vector<int>& states,
                        const std::vector<int>& inputs);
  std::vector<int> scan(Trips& trips, std::vector<int> states, const std::vector<int>& inputs,
                        const std::string& directions);
  std::vector<int> results_of(const Inlined& body);

  const onnx::ModelProto& model_;
  const onnx::GraphProto& graph_;
  std::string file_;
  const OnnxOptions& options_;
  Context c_;
  Diags diags_, notes_;
  std::map<std::pair<std::string, std::string>, const onnx::FunctionProto*> functions_;
  std::vector<const onnx::FunctionProto*> calls_;  // whose bodies are being added
  std::set<std::string> initialisers_, failed_, outputs_;
  std::set<std::string> names_;  // of all values, and prefixes
  int64_t inlined_ = 0;          // nodes of bodies so far
  int depth_ = 0;                // of bodies in bodies
  int64_t chosen_ = 0;           // nodes If of which both branches are computed
  std::string first_chosen_;     // in words
};

}  // namespace assay::import
