/* Kernels of floating-point and vector work. See kernels.h. */
#include "kernels.h"

#define KERNEL(name) __attribute__((noinline)) uint64_t k_##name(uint64_t rounds)

extern union memory {
  uint8_t bytes[BYTES];
  uint32_t words[WORDS];
} in, out;

static double numbers[256];
static float singles[256];

static void fill_numbers(void) {
  for (int i = 0; i < 256; i++) numbers[i] = 1.0 + i / 256.0, singles[i] = 1.0f + (float)i / 256.0f;
}

KERNEL(dot64) {
  double sum = 0;
  fill_numbers();
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 255; i++) sum += numbers[i] * numbers[i + 1];
  return (uint64_t)sum;
}

KERNEL(polynomial32) {
  float sum = 0;
  fill_numbers();
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 255; i++) {
      float x = singles[i];
      sum += ((x * 0.5f + 0.25f) * x - 1.5f) * x + 0.125f;
    }
  return (uint64_t)(int64_t)sum;
}

KERNEL(convert) {
  double sum = 0;
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 500; i++) sum += (double)(int32_t)in.words[i] * 0.5;
  return (uint64_t)(int64_t)sum;
}

KERNEL(normalize) {
  double sum = 0;
  fill_numbers();
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 255; i++) sum += numbers[i] / (numbers[i + 1] + (double)r);
  return (uint64_t)(sum * 1000);
}

KERNEL(normalize32) {
  float sum = 0;
  fill_numbers();
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 255; i++) sum += singles[i] / (singles[i + 1] + (float)r);
  return (uint64_t)(sum * 16);
}

KERNEL(newton) {
  double sum = 0;
  fill_numbers();
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 100; i++) {
      double x = 1;
      for (int step = 0; step < 4; step++) x = 0.5 * (x + numbers[i] / x);
      sum += x - __builtin_sqrt(numbers[i]);
    }
  return (uint64_t)(int64_t)(sum * 1e6);
}

typedef uint32_t lanes __attribute__((vector_size(16)));
typedef float float_lanes __attribute__((vector_size(16)));

KERNEL(vector_add) {
  const lanes *from = (const lanes *)in.words;
  lanes *to = (lanes *)out.words;
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 500; i++) to[i] = from[i] + from[i + 1];
  return to[7][1];
}

KERNEL(vector_mix) {
  lanes a = {1, 2, 3, 4}, b = {5, 6, 7, 8};
  for (uint64_t i = 0; i < rounds * 500; i++) {
    a = (a ^ b) + b;
    b = (b & ~a) | (a >> 3);
    a = a - (b << 5);
  }
  return a[0] ^ b[1];
}

KERNEL(vector_float) {
  float_lanes sum = {0}, scale = {1.0f, 0.5f, 0.25f, 2.0f};
  const float_lanes *from = (const float_lanes *)singles;
  fill_numbers();
  for (uint64_t r = 0; r < rounds; r++)
    for (int i = 0; i < 63; i++) sum += from[i] * scale - from[i + 1];
  return (uint64_t)(int64_t)(sum[0] + sum[1] + sum[2] + sum[3]);
}
