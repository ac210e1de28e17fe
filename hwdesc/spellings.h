// Names that other tools and vendors use, and earlier versions of this format, with this format's
// name. Such a key or word is refused like any unknown one, but the hint gives the name to write.
#pragma once

#include <string>
#include <string_view>

namespace assay::hwdesc {

// What to write instead of key `key` in the map at `path` (empty: the profile itself; `=`: the
// record of a value); empty: this table does not know the key. Case, `_` and `-` do not matter.
std::string spelling_of_key(std::string_view path, std::string_view key);

// The word that stands for `word` in a field called `field` (managed, write, source, style, dtype,
// op; `fact` for what is true or false); empty: none.
std::string spelling_of_word(std::string_view field, std::string_view word);

}  // namespace assay::hwdesc
