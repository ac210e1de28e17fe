// Precedes a kernel's text, so that a C++ compiler accepts it.
#pragma once

constexpr const char* kPrelude = R"cpp(
#include <math.h>
#define asm(...)
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
  extern "C" {
  struct Dim {
    unsigned x, y, z;
  };
  Dim threadIdx, blockIdx;
  void (*host_barrier)(int number, unsigned count);
  int (*host_vote)(int yes);
  void (*host_sleep)();
  unsigned long long (*host_clock)();
  void (*host_texel)(unsigned long long, float, float, void*);
  }
  struct float4 {
    float x, y, z, w;
  };
  struct int4 {
    int x, y, z, w;
  };
  struct __attribute__((may_alias)) uint2 {
    unsigned x, y;
  };
  struct __attribute__((may_alias)) uint4 {
    unsigned x, y, z, w;
  };
  template <class V>
  V tex2D(unsigned long long t, float x, float y) {
    V v;
    host_texel(t, x, y, &v);
    return v;
  }
  inline void __syncwarp() { host_barrier(-1, 0); }
  inline void __syncthreads() { host_barrier(0, 0); }
  inline int __syncthreads_or(int yes) { return host_vote(yes); }
  inline void __barrier_sync_count(unsigned number, unsigned count) {
    host_barrier((int)number, count);
  }
  inline void __nanosleep(unsigned) { host_sleep(); }
  inline unsigned long long clock64() { return host_clock(); }
  inline void __trap() { __builtin_trap(); }
  inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
  template <class T>
  T atomicAdd(T* to, T by) {
    return __atomic_fetch_add(to, by, __ATOMIC_RELAXED);
  }
  inline float __int_as_float(int bits) { return __builtin_bit_cast(float, bits); }
  inline unsigned __float_as_uint(float number) { return __builtin_bit_cast(unsigned, number); }
  inline float __uint_as_float(unsigned bits) { return __builtin_bit_cast(float, bits); }
  inline float __fdiv_rn(float a, float b) { return a / b; }
  inline int __float_as_int(float number) { return __builtin_bit_cast(int, number); }
  inline long long __double_as_longlong(double number) {
    return __builtin_bit_cast(long long, number);
  }
  inline double __longlong_as_double(long long bits) { return __builtin_bit_cast(double, bits); }
#line 1 "kernel.cu"
)cpp";
