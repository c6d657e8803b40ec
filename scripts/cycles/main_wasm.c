/* The kernels as exports of a WebAssembly module: NAME(rounds), after prepare(). */
#include "kernels.h"
#define EXPORT(name) \
  __attribute__((export_name(#name))) uint64_t run_##name(uint64_t rounds) { return k_##name(rounds); }
KERNELS(EXPORT)
__attribute__((export_name("prepare"))) void run_prepare(void) { prepare(); }
