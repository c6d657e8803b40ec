/* Operators of neural networks for tasks that run inside a Bitline drive (the templates of TH-iSSD, TECS 2023, 4.1.1):
 * convolution, matrix-vector product, point-wise sum and product, tanh, sigmoid, ReLU, pooling.
 *
 * On a drive with accelerators one of them computes, and the task waits; on others the task computes on its core, by the code
 * below. The results have the same bits.
 *
 *     #include <bitline/operators.h>
 *
 *     static float weights[10][64], bias[10], item[64], score[10];
 *     isc_matrix_vector(ISC_FLOAT32, 10, 64, 1, weights, item, bias, score);
 *
 * Numbers are ISC_INT8, ISC_INT32 or ISC_FLOAT32; tensors are row-major, [channels][height][width]. Arithmetic:
 * - Products of integers are summed in 32 bits, which wrap around. Results that are shifted, and sums by isc_add, saturate; what is
 *   shifted out is rounded to nearest, halves to even.
 * - Each product and each sum of float32 is rounded to nearest, ties to even; none are fused. Sums begin with the bias, or with
 *   +0, and go on in the order of the operands in memory. NaNs are the quiet one.
 * - Integers of tanh and sigmoid are fixed-point numbers with `shift` bits behind the point, and so are the results, which are those of
 *   float32 (within 2e-7 of the true ones), rounded to nearest, halves to even.
 *
 * All calls give 0, or -ISC_EINVAL: an extent is 0 or beyond all bounds, a window is larger than what it moves over, a shift is more than
 * 31, there are more than 2^32 multiplications, or the output overlaps an operand (which that of point-wise operators may, if
 * both begin at the same byte). Operands outside of memory end the run.
 */
#ifndef BITLINE_OPERATORS_H
#define BITLINE_OPERATORS_H

#include <bitline/isc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The drive has no accelerator. Operators compute by themselves then, and never give this. */
#define ISC_ENODEV 19

/* Types of numbers. */
enum { ISC_INT8, ISC_INT32, ISC_FLOAT32 };

enum {
  ISC_OP_MATRIX_VECTOR,
  ISC_OP_CONVOLUTION,
  ISC_OP_ADD,
  ISC_OP_MULTIPLY,
  ISC_OP_TANH,
  ISC_OP_SIGMOID,
  ISC_OP_RELU,
  ISC_OP_MAX_POOL,
  ISC_OP_AVERAGE_POOL,
  ISC_OP_NARROW
};

/* What the drive is told. */
typedef struct {
  uint32_t kind, type;
  const void *input, *other, *bias;
  void *output;
  uint32_t shape[8];
} isc_operator;

ISC_IMPORT(operate) int32_t isc_import_operate(const isc_operator *what, int32_t bytes);

#define ISC_OP_FUNCTION __attribute__((unused)) static

/* ---- Numbers. ---- */

/* Shifted to the right, rounded to nearest, halves to even. */
ISC_OP_FUNCTION int64_t isc_op_shifted(int64_t number, uint32_t shift) {
  if (shift == 0) return number;
  int64_t whole = number >> shift, rest = number - (int64_t)((uint64_t)whole << shift), half = (int64_t)1 << (shift - 1);
  return whole + (rest > half || (rest == half && (whole & 1)));
}

/* Divided, rounded to nearest, halves to even. */
ISC_OP_FUNCTION int64_t isc_op_divided(int64_t number, int64_t by) {
  int64_t whole = number / by, rest = number % by;
  if (rest < 0) whole--, rest += by;
  return whole + (2 * rest > by || (2 * rest == by && (whole & 1)));
}

ISC_OP_FUNCTION int64_t isc_op_rounded(float number) {
  if (number >= 2147483648.0f) return INT32_MAX;
  if (number < -2147483648.0f) return INT32_MIN;
  int32_t whole = (int32_t)number;
  float rest = number - (float)whole;
  if (rest > 0.5f || (rest == 0.5f && (whole & 1))) return (int64_t)whole + 1;
  if (rest < -0.5f || (rest == -0.5f && (whole & 1))) return (int64_t)whole - 1;
  return whole;
}

ISC_OP_FUNCTION int8_t isc_op_int8(int64_t number) {
  return (int8_t)(number < INT8_MIN ? INT8_MIN : number > INT8_MAX ? INT8_MAX : number);
}

ISC_OP_FUNCTION int32_t isc_op_int32(int64_t number) {
  return (int32_t)(number < INT32_MIN ? INT32_MIN : number > INT32_MAX ? INT32_MAX : number);
}

ISC_OP_FUNCTION float isc_op_float(float number) { return number == number ? number : __builtin_nanf(""); }

/* e^x for |x| up to 80: 2^n e^r, with r within half of ln 2 and e^r by its Taylor polynomial of degree 7. */
ISC_OP_FUNCTION float isc_op_exponential(float x) {
  static const float coefficients[7] = {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1, 1};
  float turns = x * 1.44269504f;
  int32_t n = (int32_t)(turns + (turns < 0 ? -0.5f : 0.5f));
  float r = (x - (float)n * 0.693359375f) - (float)n * -2.1219444e-4f, sum = 1.0f / 5040;
  for (int at = 0; at < 7; at++) sum = sum * r + coefficients[at];
  union {
    uint32_t bits;
    float number;
  } scale = {(uint32_t)(n + 127) << 23};
  return sum * scale.number;
}

ISC_OP_FUNCTION float isc_op_tanh(float x) {
  if (x != x) return __builtin_nanf("");
  float size = x < 0 ? -x : x;
  if (size < 0.25f) {
    static const float coefficients[3] = {-17.0f / 315, 2.0f / 15, -1.0f / 3};
    float square = x * x, sum = 62.0f / 2835;
    for (int at = 0; at < 3; at++) sum = sum * square + coefficients[at];
    return x + x * (square * sum);
  }
  if (size > 40) size = 40;
  float above = 1 - 2 / (isc_op_exponential(size + size) + 1);
  return x < 0 ? -above : above;
}

ISC_OP_FUNCTION float isc_op_sigmoid(float x) {
  if (x != x) return __builtin_nanf("");
  if (x > 80) x = 80;
  if (x < -80) x = -80;
  return 1 / (1 + isc_op_exponential(-x));
}

ISC_OP_FUNCTION int64_t isc_op_fixed(int32_t number, int is_tanh, uint32_t shift) {
  float one = (float)((uint64_t)1 << shift), x = (float)number / one;
  return isc_op_rounded((is_tanh ? isc_op_tanh(x) : isc_op_sigmoid(x)) * one);
}

/* ---- Shapes. ---- */

ISC_OP_FUNCTION int isc_op_is_extent(uint64_t extent) { return extent >= 1 && extent <= 1u << 28; }

/* a times b, or all ones if that is beyond 2^40: more than anything may have. */
ISC_OP_FUNCTION uint64_t isc_op_product(uint64_t a, uint64_t b) {
  return b != 0 && a > ((uint64_t)1 << 40) / b ? UINT64_MAX : a * b;
}

/* How large an operator's operands are. */
typedef struct {
  uint64_t input, other, bias, output;
  uint32_t height, width; /* rows and columns that a window gives */
} isc_op_sizes;

/* Whether it can be computed. */
ISC_OP_FUNCTION int isc_op_measure(const isc_operator *what, isc_op_sizes *sizes) {
  const uint32_t *shape = what->shape;
  uint64_t each = what->type == ISC_INT8 ? 1 : 4, macs = 0, numbers = isc_op_product(isc_op_product(shape[0], shape[1]), shape[2]);
  int is_plane = isc_op_is_extent(shape[0]) && isc_op_is_extent(shape[1]) && isc_op_is_extent(shape[2]);
  *sizes = (isc_op_sizes){0};
  switch (what->kind) {
    case ISC_OP_MATRIX_VECTOR:
      macs = numbers;
      *sizes = (isc_op_sizes){.input = isc_op_product(shape[1], shape[2]) * each,
                              .other = isc_op_product(shape[0], shape[1]) * each,
                              .bias = (uint64_t)shape[0] * 4,
                              .output = isc_op_product(shape[0], shape[2]) * 4};
      return is_plane && macs <= (uint64_t)1 << 32;
    case ISC_OP_CONVOLUTION: {
      uint32_t outputs = shape[3], kernel = shape[4], stride = shape[5], padding = shape[6];
      if (!is_plane || numbers > (uint64_t)1 << 32 || !isc_op_is_extent(outputs) || !isc_op_is_extent(kernel) ||
          !isc_op_is_extent(stride) || padding >= kernel || kernel > shape[1] + 2 * padding || kernel > shape[2] + 2 * padding)
        return 0;
      sizes->height = (shape[1] + 2 * padding - kernel) / stride + 1;
      sizes->width = (shape[2] + 2 * padding - kernel) / stride + 1;
      uint64_t places = isc_op_product(isc_op_product(outputs, sizes->height), sizes->width);
      uint64_t weights = isc_op_product(isc_op_product(shape[0], kernel), kernel);
      macs = isc_op_product(places, weights);
      sizes->input = numbers * each;
      sizes->other = isc_op_product(weights, outputs) * each;
      sizes->bias = (uint64_t)outputs * 4;
      sizes->output = places * 4;
      return macs <= (uint64_t)1 << 32;
    }
    case ISC_OP_MAX_POOL:
    case ISC_OP_AVERAGE_POOL: {
      uint32_t window = shape[3], stride = shape[4];
      if (!is_plane || numbers > (uint64_t)1 << 32 || !isc_op_is_extent(window) || !isc_op_is_extent(stride) || window > shape[1] ||
          window > shape[2])
        return 0;
      sizes->height = (shape[1] - window) / stride + 1;
      sizes->width = (shape[2] - window) / stride + 1;
      sizes->input = numbers * each;
      sizes->output = isc_op_product(isc_op_product(shape[0], sizes->height), sizes->width) * each;
      return 1;
    }
    default: {
      int has_other = what->kind == ISC_OP_ADD || what->kind == ISC_OP_MULTIPLY;
      int has_shift = what->kind != ISC_OP_ADD && what->kind != ISC_OP_RELU;
      int is_narrow = what->kind == ISC_OP_NARROW;
      sizes->input = shape[0] * each;
      sizes->other = has_other ? sizes->input : 0;
      sizes->output = is_narrow ? shape[0] : sizes->input;
      return isc_op_is_extent(shape[0]) && (!has_shift || shape[1] < 32) && (!is_narrow || what->type == ISC_INT32);
    }
  }
}

ISC_OP_FUNCTION int isc_op_overlap(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes) {
  return a_bytes > 0 && b_bytes > 0 && (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}

ISC_OP_FUNCTION int isc_op_is_apart(const isc_operator *what, const isc_op_sizes *sizes) {
  int is_point_wise = what->kind >= ISC_OP_ADD && what->kind <= ISC_OP_RELU;
  int input = isc_op_overlap(what->output, sizes->output, what->input, sizes->input);
  int other = isc_op_overlap(what->output, sizes->output, what->other, sizes->other);
  int bias = what->bias != 0 && isc_op_overlap(what->output, sizes->output, what->bias, sizes->bias);
  if (is_point_wise) {
    input = input && what->output != what->input;
    other = other && what->output != what->other;
  }
  return !input && !other && !bias;
}

/* ---- What a core computes, for one type of numbers. ---- */

#define ISC_OP_COMPUTE(NAME, NUMBER, SUM, SUMMED, KEPT, PLUS, TIMES, TANH, SIGMOID, TOTAL, MEAN)                              \
  ISC_OP_FUNCTION void isc_op_matrix_vector_##NAME(const isc_operator *what) {                                               \
    uint32_t rows = what->shape[0], columns = what->shape[1], vectors = what->shape[2];                                      \
    const SUM *bias = (const SUM *)what->bias;                                                                               \
    SUM *output = (SUM *)what->output;                                                                                       \
    for (uint32_t vector = 0; vector < vectors; vector++)                                                                    \
      for (uint32_t row = 0; row < rows; row++) {                                                                            \
        const NUMBER *a = (const NUMBER *)what->other + (size_t)row * columns;                                               \
        const NUMBER *b = (const NUMBER *)what->input + (size_t)vector * columns;                                            \
        SUM sum = bias ? bias[row] : 0;                                                                                      \
        for (uint32_t column = 0; column < columns; column++) sum = SUMMED(sum, a[column], b[column]);                       \
        *output++ = KEPT(sum);                                                                                               \
      }                                                                                                                      \
  }                                                                                                                          \
  ISC_OP_FUNCTION void isc_op_convolution_##NAME(const isc_operator *what, const isc_op_sizes *sizes) {                      \
    uint32_t channels = what->shape[0], height = what->shape[1], width = what->shape[2], outputs = what->shape[3];           \
    uint32_t kernel = what->shape[4], stride = what->shape[5], padding = what->shape[6];                                     \
    const SUM *bias = (const SUM *)what->bias;                                                                               \
    SUM *output = (SUM *)what->output;                                                                                       \
    for (uint32_t out = 0; out < outputs; out++)                                                                             \
      for (uint32_t row = 0; row < sizes->height; row++, output += sizes->width) {                                           \
        const NUMBER *weight = (const NUMBER *)what->other + (size_t)out * channels * kernel * kernel;                       \
        for (uint32_t at = 0; at < sizes->width; at++) output[at] = bias ? bias[out] : 0;                                    \
        for (uint32_t channel = 0; channel < channels; channel++)                                                            \
          for (uint32_t down = 0; down < kernel; down++) {                                                                   \
            uint64_t y = (uint64_t)row * stride + down;                                                                      \
            if (y < padding || y - padding >= height) {                                                                      \
              weight += kernel;                                                                                              \
              continue;                                                                                                      \
            }                                                                                                                \
            const NUMBER *line = (const NUMBER *)what->input + ((size_t)channel * height + (size_t)(y - padding)) * width;   \
            for (uint32_t across = 0; across < kernel; across++, weight++) {                                                 \
                /* The places at which the weight lies over the line. */                                                     \
                uint64_t skipped = padding > across ? padding - across : 0, end = (uint64_t)width + padding - across;        \
                uint64_t at = (skipped + stride - 1) / stride, past = across >= width + padding ? 0 : (end + stride - 1) / stride;\
                if (past > sizes->width) past = sizes->width;                                                                \
                for (; at < past; at++)                                                                                      \
                  output[at] = SUMMED(output[at], line[at * stride + across - padding], *weight);                            \
              }                                                                                                              \
          }                                                                                                                  \
        for (uint32_t at = 0; at < sizes->width; at++) output[at] = KEPT(output[at]);                                        \
      }                                                                                                                      \
  }                                                                                                                          \
  ISC_OP_FUNCTION void isc_op_pool_##NAME(const isc_operator *what, const isc_op_sizes *sizes) {                             \
    uint32_t width = what->shape[2], window = what->shape[3], stride = what->shape[4];                                       \
    NUMBER *output = (NUMBER *)what->output;                                                                                 \
    for (uint32_t channel = 0; channel < what->shape[0]; channel++)                                                          \
      for (uint32_t row = 0; row < sizes->height; row++)                                                                     \
        for (uint32_t column = 0; column < sizes->width; column++) {                                                         \
          const NUMBER *first = (const NUMBER *)what->input +                                                                \
                                ((size_t)channel * what->shape[1] + (size_t)row * stride) * width + (size_t)column * stride; \
          NUMBER most = *first;                                                                                              \
          TOTAL total = 0;                                                                                                   \
          for (uint32_t down = 0; down < window; down++, first += width)                                                     \
            for (uint32_t across = 0; across < window; across++) {                                                           \
              most = first[across] > most ? first[across] : most;                                                            \
              total += first[across];                                                                                        \
            }                                                                                                                \
          *output++ = what->kind == ISC_OP_MAX_POOL ? KEPT(most) : MEAN(total, window * window);                          \
        }                                                                                                                    \
  }                                                                                                                          \
  ISC_OP_FUNCTION void isc_op_point_wise_##NAME(const isc_operator *what) {                                                  \
    const NUMBER *a = (const NUMBER *)what->input, *b = (const NUMBER *)what->other;                                         \
    NUMBER *output = (NUMBER *)what->output;                                                                                 \
    uint32_t count = what->shape[0], shift = what->shape[1];                                                                 \
    for (uint32_t at = 0; at < count; at++) switch (what->kind) {                                                            \
        case ISC_OP_ADD: output[at] = PLUS(a[at], b[at]); break;                                                             \
        case ISC_OP_MULTIPLY: output[at] = TIMES(a[at], b[at], shift); break;                                                \
        case ISC_OP_TANH: output[at] = TANH(a[at], shift); break;                                                            \
        case ISC_OP_SIGMOID: output[at] = SIGMOID(a[at], shift); break;                                                      \
        default: output[at] = a[at] > 0 ? a[at] : 0;                                                                         \
      }                                                                                                                      \
  }                                                                                                                          \
  ISC_OP_FUNCTION void isc_op_compute_##NAME(const isc_operator *what, const isc_op_sizes *sizes) {                          \
    switch (what->kind) {                                                                                                    \
      case ISC_OP_MATRIX_VECTOR: isc_op_matrix_vector_##NAME(what); break;                                                   \
      case ISC_OP_CONVOLUTION: isc_op_convolution_##NAME(what, sizes); break;                                                \
      case ISC_OP_MAX_POOL:                                                                                                  \
      case ISC_OP_AVERAGE_POOL: isc_op_pool_##NAME(what, sizes); break;                                                      \
      default: isc_op_point_wise_##NAME(what);                                                                               \
    }                                                                                                                        \
  }

#define ISC_OP_SUM_INT(sum, a, b) ((int32_t)((uint32_t)(sum) + (uint32_t)(a) * (uint32_t)(b)))
#define ISC_OP_SUM_FLOAT(sum, a, b) ((sum) + (a) * (b))
#define ISC_OP_SAME(number) (number)
#define ISC_OP_PLUS_INT8(a, b) isc_op_int8((int64_t)(a) + (b))
#define ISC_OP_PLUS_INT32(a, b) isc_op_int32((int64_t)(a) + (b))
#define ISC_OP_PLUS_FLOAT(a, b) isc_op_float((a) + (b))
#define ISC_OP_TIMES_INT8(a, b, shift) isc_op_int8(isc_op_shifted((int64_t)(a) * (b), shift))
#define ISC_OP_TIMES_INT32(a, b, shift) isc_op_int32(isc_op_shifted((int64_t)(a) * (b), shift))
#define ISC_OP_TIMES_FLOAT(a, b, shift) isc_op_float((a) * (b))
#define ISC_OP_TANH_INT8(x, shift) isc_op_int8(isc_op_fixed(x, 1, shift))
#define ISC_OP_TANH_INT32(x, shift) isc_op_int32(isc_op_fixed(x, 1, shift))
#define ISC_OP_TANH_FLOAT(x, shift) isc_op_tanh(x)
#define ISC_OP_SIGMOID_INT8(x, shift) isc_op_int8(isc_op_fixed(x, 0, shift))
#define ISC_OP_SIGMOID_INT32(x, shift) isc_op_int32(isc_op_fixed(x, 0, shift))
#define ISC_OP_SIGMOID_FLOAT(x, shift) isc_op_sigmoid(x)
#define ISC_OP_MEAN_INT8(sum, count) isc_op_int8(isc_op_divided(sum, count))
#define ISC_OP_MEAN_INT32(sum, count) isc_op_int32(isc_op_divided(sum, count))
#define ISC_OP_MEAN_FLOAT(sum, count) isc_op_float((sum) / (float)(count))

ISC_OP_COMPUTE(int8, int8_t, int32_t, ISC_OP_SUM_INT, ISC_OP_SAME, ISC_OP_PLUS_INT8, ISC_OP_TIMES_INT8, ISC_OP_TANH_INT8,
               ISC_OP_SIGMOID_INT8, int64_t, ISC_OP_MEAN_INT8)
ISC_OP_COMPUTE(int32, int32_t, int32_t, ISC_OP_SUM_INT, ISC_OP_SAME, ISC_OP_PLUS_INT32, ISC_OP_TIMES_INT32, ISC_OP_TANH_INT32,
               ISC_OP_SIGMOID_INT32, int64_t, ISC_OP_MEAN_INT32)
ISC_OP_COMPUTE(float32, float, float, ISC_OP_SUM_FLOAT, isc_op_float, ISC_OP_PLUS_FLOAT, ISC_OP_TIMES_FLOAT, ISC_OP_TANH_FLOAT,
               ISC_OP_SIGMOID_FLOAT, float, ISC_OP_MEAN_FLOAT)

/* What a core computes of an operator; 0 or -ISC_EINVAL. */
ISC_OP_FUNCTION int isc_op_compute(const isc_operator *what) {
  isc_op_sizes sizes;
  if (what->kind > ISC_OP_NARROW || what->type > ISC_FLOAT32 || !isc_op_measure(what, &sizes) || !isc_op_is_apart(what, &sizes))
    return -ISC_EINVAL;
  if (what->kind == ISC_OP_NARROW) {
    const int32_t *from = (const int32_t *)what->input;
    int8_t *to = (int8_t *)what->output;
    for (uint32_t at = 0; at < what->shape[0]; at++) to[at] = isc_op_int8(isc_op_shifted(from[at], what->shape[1]));
    return 0;
  }
  if (what->type == ISC_INT8) isc_op_compute_int8(what, &sizes);
  if (what->type == ISC_INT32) isc_op_compute_int32(what, &sizes);
  if (what->type == ISC_FLOAT32) isc_op_compute_float32(what, &sizes);
  return 0;
}

/* Has an accelerator compute, or the core. */
ISC_OP_FUNCTION int isc_operate(const isc_operator *what) {
  int32_t given = isc_import_operate(what, (int32_t)sizeof *what);
  return given == -ISC_ENODEV || given == -ISC_ENOSYS ? isc_op_compute(what) : given;
}

/* ---- The operators. ---- */

/* A matrix [rows][columns] times each of some vectors [vectors][columns], plus a bias [rows] (or NULL): [vectors][rows].
 * Bias and output are int32 for integers. */
ISC_OP_FUNCTION int isc_matrix_vector(int type, uint32_t rows, uint32_t columns, uint32_t vectors, const void *matrix,
                                      const void *input, const void *bias, void *output) {
  isc_operator what = {ISC_OP_MATRIX_VECTOR, (uint32_t)type, input, matrix, bias, output, {rows, columns, vectors}};
  return isc_operate(&what);
}

/* An input, or that of pooling. */
typedef struct {
  uint32_t channels, height, width;
} isc_plane;

/* Kernels [outputs][channels][kernel][kernel], moved by `stride` over an input with `padding` rows and columns around it that add nothing
 * (fewer than the kernel has), plus a bias [outputs] (or NULL): [outputs][(height + 2 padding - kernel) / stride + 1][...]. Bias and
 * output are int32 for integers. */
ISC_OP_FUNCTION int isc_convolution(int type, isc_plane plane, uint32_t outputs, uint32_t kernel, uint32_t stride,
                                    uint32_t padding, const void *kernels, const void *input, const void *bias,
                                    void *output) {
  isc_operator what = {ISC_OP_CONVOLUTION, (uint32_t)type, input, kernels, bias, output,
                       {plane.channels, plane.height, plane.width, outputs, kernel, stride, padding}};
  return isc_operate(&what);
}

/* Sums of numbers, saturated. */
ISC_OP_FUNCTION int isc_add(int type, uint32_t count, const void *a, const void *b, void *output) {
  isc_operator what = {ISC_OP_ADD, (uint32_t)type, a, b, 0, output, {count}};
  return isc_operate(&what);
}

/* Products of numbers; those of integers are shifted to the right by `shift` bits. */
ISC_OP_FUNCTION int isc_multiply(int type, uint32_t count, uint32_t shift, const void *a, const void *b, void *output) {
  isc_operator what = {ISC_OP_MULTIPLY, (uint32_t)type, a, b, 0, output, {count, shift}};
  return isc_operate(&what);
}

/* The hyperbolic tangent of numbers; integers have `shift` bits behind the point. */
ISC_OP_FUNCTION int isc_tanh(int type, uint32_t count, uint32_t shift, const void *input, void *output) {
  isc_operator what = {ISC_OP_TANH, (uint32_t)type, input, 0, 0, output, {count, shift}};
  return isc_operate(&what);
}

/* 1 / (1 + e^-x) of numbers; integers have `shift` bits behind the point. */
ISC_OP_FUNCTION int isc_sigmoid(int type, uint32_t count, uint32_t shift, const void *input, void *output) {
  isc_operator what = {ISC_OP_SIGMOID, (uint32_t)type, input, 0, 0, output, {count, shift}};
  return isc_operate(&what);
}

/* Numbers that are above 0, 0 for others. */
ISC_OP_FUNCTION int isc_relu(int type, uint32_t count, const void *input, void *output) {
  isc_operator what = {ISC_OP_RELU, (uint32_t)type, input, 0, 0, output, {count}};
  return isc_operate(&what);
}

/* The largest number of each window, moved by `stride` over each plane. */
ISC_OP_FUNCTION int isc_max_pool(int type, isc_plane plane, uint32_t window, uint32_t stride, const void *input,
                                 void *output) {
  isc_operator what = {ISC_OP_MAX_POOL, (uint32_t)type, input, 0, 0, output,
                       {plane.channels, plane.height, plane.width, window, stride}};
  return isc_operate(&what);
}

/* The mean of each window; that of integers is rounded to nearest, halves to even. */
ISC_OP_FUNCTION int isc_average_pool(int type, isc_plane plane, uint32_t window, uint32_t stride, const void *input,
                                     void *output) {
  isc_operator what = {ISC_OP_AVERAGE_POOL, (uint32_t)type, input, 0, 0, output,
                       {plane.channels, plane.height, plane.width, window, stride}};
  return isc_operate(&what);
}

/* int32 to int8, shifted to the right by `shift` bits. */
ISC_OP_FUNCTION int isc_narrow(uint32_t count, uint32_t shift, const int32_t *input, int8_t *output) {
  isc_operator what = {ISC_OP_NARROW, ISC_INT32, input, 0, 0, output, {count, shift}};
  return isc_operate(&what);
}

#ifdef __cplusplus
}
#endif

#endif
