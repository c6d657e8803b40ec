/* The kernels that cycles are calibrated with: the same C for both machines, each a loop over memory that was filled
 * before. KERNELS(X) names them all with the kind of work that they stand for. */
#ifndef KERNELS_H
#define KERNELS_H
#include <stdint.h>

/* Bytes of the memory that kernels work on; elements of 32 bits; all within a first-level cache of 32 KiB. */
#define BYTES 16384
#define WORDS (BYTES / 4)

#define KERNELS(X) \
  X(xorshift) X(rotate_mix) X(counters) X(bit_tricks) X(select_min_max) X(lcg) X(multiply_high) X(mix_hash) \
  X(divide32) X(divide64) X(remainder_by_parts) X(gcd) X(sum32) X(sum_bytes) X(chase) X(stencil) X(fill32) X(fill_bytes) \
  X(copy32) X(reverse) X(histogram) X(collatz) X(threshold) X(lines) X(state_machine) X(parse_decimals) X(varints) \
  X(compare_strings) X(binary_search) X(insertion_sort) X(heap_sort) X(fibonacci) X(leaf_calls) X(indirect_calls) \
  X(crc_table) X(crc_bits) X(fnv) X(adler) X(runs) X(matrix) X(dot64) X(polynomial32) X(convert) X(normalize) X(normalize32) \
  X(newton) \
  X(vector_add) X(vector_mix) X(vector_float)

#define DECLARE(name) uint64_t k_##name(uint64_t rounds);
KERNELS(DECLARE)

/* Fills the memory: whatever the kernel before left there, each begins alike. */
void prepare(void);
#endif
