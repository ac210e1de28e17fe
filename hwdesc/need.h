// What a field table says of a field beside its name and meaning.
#pragma once

#include <concepts>
#include <type_traits>

namespace assay::hwdesc {

enum class Need {
  optional,
  required,  // an entry without it is an error
  shown,     // has a default, but is always printed
};

template <class T, class S>
concept Is = std::same_as<std::remove_const_t<T>, S>;

}  // namespace assay::hwdesc
