// Result<T>: a value, or the Diags that say why there is none.
#pragma once

#include <utility>
#include <variant>

#include "support/check.h"
#include "support/diag.h"

namespace assay {

template <class T>
class [[nodiscard]] Result {  // invariant: holds a T, or at least one error
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Diags diags) : state_(std::move(diags)) { ASSAY_CHECK(has_error(std::get<1>(state_))); }
  Result(Diag diag) : Result(Diags{std::move(diag)}) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    ASSAY_CHECK(ok());
    return std::get<0>(state_);
  }
  const T& value() const& {
    ASSAY_CHECK(ok());
    return std::get<0>(state_);
  }
  T&& value() && {
    ASSAY_CHECK(ok());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Diags& diags() const {
    ASSAY_CHECK(!ok());
    return std::get<1>(state_);
  }

 private:
  std::variant<T, Diags> state_;
};

}  // namespace assay
