#include "toolkit/validate_journal.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "support/files/files.h"
#include "toolkit/estimate_json.h"

namespace assay::toolkit {
namespace {

constexpr const char* kSchema = "assay/validation/1";
constexpr Drawn kDrawn[] = {Drawn::uniform, Drawn::best_tenth, Drawn::neighbour};

Json to_json(const RunIdentity& r) {
  return {{"kind", "run"},        {"schema", kSchema},      {"profile", r.profile},
          {"suite", r.suite},     {"device", r.device},     {"api", r.api},
          {"version", r.version}, {"programs", r.programs}, {"repeat", r.repeat},
          {"seed", r.seed}};
}

Json predicted_line(const std::string& op, const ProgramRow& row) {
  Json terms = Json::object();
  for (const model::Term& t : row.estimate.terms) terms[t.name] = t.seconds;
  return {{"kind", "predicted"},
          {"operator", op},
          {"id", row.id},
          {"drawn", name_of(row.drawn)},
          {"first", row.first},
          {"seconds", row.estimate.seconds},
          {"low", row.estimate.low},
          {"high", row.estimate.high},
          {"bound", row.estimate.bound},
          {"terms", terms},
          {"parameters", row.parameters},
          {"program", row.program}};
}

Json measured_line(const std::string& op, const ProgramRow& row) {
  return {{"kind", "measured"},
          {"operator", op},
          {"id", row.id},
          {"seconds", row.measured},
          {"quick", row.quick},
          {"slow", row.slow},
          {"samples", row.samples},
          {"disturbed", row.disturbed},
          {"fma_rate", row.fma_rate},
          {"wrong", row.wrong}};
}

Json done_line(const OperatorRows& rows) {
  const Spent& s = rows.spent;
  return {{"kind", "done"},
          {"operator", rows.name},
          {"spent",
           {{"choose", s.choose}, {"reference", s.reference}, {"build", s.build}, {"run", s.run}}}};
}

Drawn drawn_from(const std::string& name) {
  const auto it = std::find_if(std::begin(kDrawn), std::end(kDrawn),
                               [&](Drawn d) { return name == name_of(d); });
  if (it == std::end(kDrawn)) throw std::runtime_error("'" + name + "' is no way of drawing");
  return *it;
}

// Operators as they are read, finished or not.
struct Reader {
  std::vector<OperatorRows> done{};
  std::map<std::string, std::vector<ProgramRow>> open{};

  ProgramRow& row_of(const Json& j) {
    std::vector<ProgramRow>& rows = open[j.at("operator").get<std::string>()];
    const auto id = j.at("id").get<std::string>();
    const auto it =
        std::find_if(rows.begin(), rows.end(), [&](const ProgramRow& r) { return r.id == id; });
    if (it != rows.end()) return *it;
    rows.emplace_back();
    rows.back().id = id;
    return rows.back();
  }

  void add_predicted(const Json& j) {
    ProgramRow& row = row_of(j);
    row.drawn = drawn_from(j.at("drawn").get<std::string>());
    j.at("first").get_to(row.first);
    j.at("seconds").get_to(row.estimate.seconds);
    j.at("low").get_to(row.estimate.low);
    j.at("high").get_to(row.estimate.high);
    j.at("bound").get_to(row.estimate.bound);
    j.at("parameters").get_to(row.parameters);
    j.at("program").get_to(row.program);
    for (const auto& [name, seconds] : j.at("terms").items())
      row.estimate.terms.push_back({name, seconds.get<double>(), ""});
  }

  void add_measured(const Json& j) {
    ProgramRow& row = row_of(j);
    j.at("seconds").get_to(row.measured);
    j.at("quick").get_to(row.quick);
    j.at("slow").get_to(row.slow);
    j.at("samples").get_to(row.samples);
    j.at("disturbed").get_to(row.disturbed);
    row.fma_rate = j.value("fma_rate", 0.0);
    j.at("wrong").get_to(row.wrong);
  }

  void add_done(const Json& j) {
    OperatorRows rows;
    j.at("operator").get_to(rows.name);
    rows.rows = std::move(open[rows.name]);
    const Json& s = j.at("spent");
    rows.spent = {s.at("choose"), s.at("reference"), s.at("build"), s.at("run")};
    done.push_back(std::move(rows));
  }

  void add(const Json& j) {
    const auto kind = j.at("kind").get<std::string>();
    if (kind == "predicted")
      add_predicted(j);
    else if (kind == "measured")
      add_measured(j);
    else if (kind == "done")
      add_done(j);
    else
      throw std::runtime_error("'" + kind + "' is no kind of journal line");
  }
};

Diags check_identity(const Json& found, const RunIdentity& run, const std::string& path) {
  Diags diags;
  const Json wanted = to_json(run);
  for (const auto& [key, value] : wanted.items()) {
    const Json there = found.is_object() && found.contains(key) ? found.at(key) : Json(nullptr);
    if (there == value) continue;
    Diag d = error("is the journal of another run: " + key + " was " + there.dump() +
                       ", now it is " + value.dump(),
                   "leave out --resume to measure anew, or write to another file");
    d.file = path;
    d.line = 1;
    diags.push_back(std::move(d));
  }
  return diags;
}

Diag at_line(const std::string& path, int line, const std::string& what) {
  Diag d = error(what);
  d.file = path;
  d.line = line;
  return d;
}

}  // namespace

namespace {

// `first` checks the journal's first line.
Result<std::vector<OperatorRows>> read_lines(const std::string& path,
                                             const std::function<Diags(const Json&)>& first) {
  const Result<std::string> text = read_text(path, kMaxDataBytes);
  if (!text) return text.diags();
  Reader reader;
  std::string_view rest = *text;
  for (int number = 1;; ++number) {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) {
      if (number == 1)
        return at_line(path, 1, "is not the journal of a validation: it has no whole line");
      return std::move(reader.done);
    }
    try {
      const Json j = Json::parse(rest.substr(0, end));
      if (number > 1) {
        reader.add(j);
      } else if (Diags other = first(j); !other.empty()) {
        return other;
      }
    } catch (const std::exception& e) {
      return at_line(path, number,
                     std::string("is no line of a validation's journal: ") + e.what());
    }
    rest.remove_prefix(end + 1);
  }
}

}  // namespace

Result<std::vector<OperatorRows>> read_validation(const std::string& path, const RunIdentity& run) {
  return read_lines(path, [&](const Json& j) { return check_identity(j, run, path); });
}

Result<KeptValidation> read_kept_validation(const std::string& path) {
  KeptValidation out;
  Result<std::vector<OperatorRows>> rows = read_lines(path, [&](const Json& j) -> Diags {
    if (j.at("schema") != kSchema)
      return {at_line(path, 1,
                      "is the journal of another version of the format: " + j.at("schema").dump())};
    RunIdentity& r = out.run;
    j.at("profile").get_to(r.profile);
    j.at("suite").get_to(r.suite);
    j.at("device").get_to(r.device);
    j.at("api").get_to(r.api);
    j.at("version").get_to(r.version);
    j.at("programs").get_to(r.programs);
    j.at("repeat").get_to(r.repeat);
    j.at("seed").get_to(r.seed);
    return {};
  });
  if (!rows) return rows.diags();
  out.operators = std::move(*rows);
  return out;
}

ValidationJournal::ValidationJournal(ValidationJournal&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)) {}

ValidationJournal::~ValidationJournal() {
  if (file_ != nullptr) std::fclose(file_);
}

Result<ValidationJournal> ValidationJournal::start(const std::string& path, const RunIdentity& run,
                                                   const std::vector<OperatorRows>& kept) {
  ValidationJournal out;
  if (path.empty()) return out;
  std::string text = to_json(run).dump() + "\n";
  for (const OperatorRows& rows : kept) {
    for (const ProgramRow& r : rows.rows)
      text +=
          predicted_line(rows.name, r).dump() + "\n" + measured_line(rows.name, r).dump() + "\n";
    text += done_line(rows).dump() + "\n";
  }
  if (Diags unwritten = write_text(path, text); !unwritten.empty()) return unwritten;
  out.file_ = std::fopen(path.c_str(), "a");
  if (out.file_ == nullptr) return error(path + " can not be written");
  return out;
}

void ValidationJournal::append(const std::string& line) {
  if (file_ == nullptr) return;
  std::fputs((line + "\n").c_str(), file_);
  std::fflush(file_);
}

void ValidationJournal::predicted(const std::string& op, const ProgramRow& row) {
  append(predicted_line(op, row).dump());
}

void ValidationJournal::measured(const std::string& op, const ProgramRow& row) {
  append(measured_line(op, row).dump());
}

void ValidationJournal::done(const OperatorRows& rows) {
  append(done_line(rows).dump());
  if (file_ != nullptr) ::fsync(::fileno(file_));
}

}  // namespace assay::toolkit
