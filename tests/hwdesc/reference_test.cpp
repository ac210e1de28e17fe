// docs/profile.md equals the page generated from the field table, and its examples show every
// field.
#include "hwdesc/reference.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "hwdesc/field_tree.h"
#include "hwdesc/fields.h"
#include "hwdesc/library.h"

namespace assay::hwdesc {
namespace {

Profile example() {
  const auto p = load_from_library(kReferenceExample);
  EXPECT_TRUE(p.ok()) << (p.ok() ? "" : render(p.diags()));
  return p.ok() ? *p : Profile{};
}

TEST(Reference, the_page_is_what_the_table_says) {
  const std::string path = std::string(ASSAY_SOURCE_DIR) + "/docs/profile.md";
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), reference_page(example()))
      << "write it again: build/bin/assay profile schema --format markdown > docs/profile.md";
}

class Given {  // visitor: the fields that are not at their default, without the names of entries
 public:
  explicit Given(std::set<std::string>& out) : out_(out) {}

  template <class M>
  void operator()(const char* key, M& member, const char*, Need) {
    const std::string outer = path_;
    path_ += (path_.empty() ? "" : ".") + std::string(key);
    if (member != M{} || std::string_view(key) == "style" || std::string_view(key) == "managed")
      out_.insert(path_);
    if constexpr (APart<M>)
      fields(*this, member);
    else if constexpr (EntryList<M>)
      for (auto& entry : member) fields(*this, entry);
    path_ = outer;
  }

  template <class Fill>
  void group(const char* key, const char*, Fill&& fill) {
    const std::string outer = path_;
    path_ += "." + std::string(key);
    out_.insert(path_);
    fill(*this);
    path_ = outer;
  }

 private:
  std::set<std::string>& out_;
  std::string path_;
};

void flatten(const std::vector<FieldNode>& tree, const std::string& path,
             std::set<std::string>& out) {
  for (const FieldNode& f : tree) {
    const std::string here = path.empty() ? f.key : path + "." + f.key;
    out.insert(here);
    flatten(f.fields, here, out);
  }
}

TEST(Reference, the_example_gives_every_field) {
  Profile p = example();
  p.source = Origin::fitted;  // differs from the default, so that it counts as given
  std::set<std::string> given, all;
  Given visitor(given);
  fields(visitor, p);
  flatten(field_tree(), "", all);
  for (const std::string& path : all)
    EXPECT_TRUE(given.contains(path)) << path << " has no example in " << kReferenceExample;
  EXPECT_EQ(given, all);
}

}  // namespace
}  // namespace assay::hwdesc
