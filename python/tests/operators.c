/* Computes the operators that file 0 has, one behind the other, and returns all answers and results: of each, a header of nine words
 * (kind, type, has a bias, bytes of input, other operand, bias and output, and two that are 0), eight words of its shape, and its
 * operands, each padded to whole words. With an argument, the task computes by itself. */
#include <bitline/operators.h>

#define WORDS(bytes) (((bytes) + 3) / 4 * 4)

int isc_task(void) {
  size_t size = (size_t)isc_file_size(0);
  uint8_t *all = malloc(size), *end = all + size;
  if (!all || isc_pread(0, all, size, 0) != (int64_t)size) return 1;
  int by_itself = isc_args_size() > 0;
  for (uint8_t *at = all; at < end;) {
    const uint32_t *head = (const uint32_t *)at;
    uint8_t *input = at + 17 * 4, *other = input + WORDS(head[3]), *bias = other + WORDS(head[4]);
    uint8_t *output = malloc(head[6] + 8);
    isc_operator what = {head[0], head[1], input, other, head[2] ? bias : 0, output, {0}};
    for (int word = 0; word < 8; word++) what.shape[word] = head[9 + word];
    int32_t answer = by_itself ? isc_op_compute(&what) : isc_operate(&what);
    isc_put_ret(&answer, 4);
    isc_put_ret(output, head[6]);
    free(output);
    at = bias + WORDS(head[5]);
  }
  return 0;
}
