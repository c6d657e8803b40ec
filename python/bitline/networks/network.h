/* A small network of dense layers, whose numbers come with a task's arguments. bitline.networks has the same in NumPy.
 *
 * As arguments: layers (uint32), then of each layer rows, columns, shift and whether its result is cut off at 0 (uint32 each), its
 * weights (int8, [rows][columns]) and its bias (int32, [rows]). What follows is for the task. */
#ifndef BITLINE_NETWORK_H
#define BITLINE_NETWORK_H

#include <bitline/operators.h>

#define NETWORK_LAYERS 8
#define NETWORK_BYTES (1 << 20)
/* Numbers of a layer's input or result, of all items that go through it at once. */
#define NETWORK_NUMBERS (1 << 18)

typedef struct {
  uint32_t rows, columns, shift, is_cut;
  const int8_t *weights;
  const int32_t *bias;
} network_layer;

static struct {
  uint32_t layers;
  network_layer layer[NETWORK_LAYERS];
  int8_t arguments[NETWORK_BYTES] __attribute__((aligned(8)));
  int32_t sums[NETWORK_NUMBERS];
  int8_t numbers[2][NETWORK_NUMBERS];
} network;

/* Takes the network out of the arguments; gives the byte at which the task's own ones begin, or -1 if there is none. */
static int64_t network_load(void) {
  size_t bytes = isc_get_args(network.arguments, sizeof network.arguments), at = 4;
  if (bytes < 4 || bytes > sizeof network.arguments) return -1;
  network.layers = *(const uint32_t *)network.arguments;
  if (network.layers == 0 || network.layers > NETWORK_LAYERS) return -1;
  for (uint32_t number = 0; number < network.layers; number++) {
    if (at + 16 > bytes) return -1;
    network_layer *layer = &network.layer[number];
    __builtin_memcpy(layer, network.arguments + at, 16);
    uint64_t weights = (uint64_t)layer->rows * layer->columns, end = (at + 16 + weights + 3) / 4 * 4 + 4ull * layer->rows;
    if (layer->rows == 0 || layer->columns == 0 || layer->shift > 31 || weights > NETWORK_BYTES || end > bytes) return -1;
    if (number > 0 && network.layer[number - 1].rows != layer->columns) return -1;
    layer->weights = network.arguments + at + 16;
    layer->bias = (const int32_t *)(network.arguments + end - 4ull * layer->rows);
    at = end;
  }
  return (int64_t)at;
}

/* Numbers of an item, and of what is made of it. */
static uint32_t network_input(void) { return network.layer[0].columns; }
static uint32_t network_output(void) { return network.layer[network.layers - 1].rows; }

/* The most items that go through it at once. */
static uint32_t network_at_once(void) {
  uint32_t widest = network_input();
  for (uint32_t number = 0; number < network.layers; number++)
    if (network.layer[number].rows > widest) widest = network.layer[number].rows;
  return NETWORK_NUMBERS / widest;
}

/* What it makes of so many items, no more than go through it at once; NULL if an operator cannot be. */
static const int8_t *network_apply(const int8_t *items, uint32_t count) {
  for (uint32_t number = 0; number < network.layers; number++) {
    const network_layer *layer = &network.layer[number];
    int8_t *result = network.numbers[number % 2];
    if (isc_matrix_vector(ISC_INT8, layer->rows, layer->columns, count, layer->weights, items, layer->bias, network.sums) ||
        isc_narrow(count * layer->rows, layer->shift, network.sums, result) ||
        (layer->is_cut && isc_relu(ISC_INT8, count * layer->rows, result, result)))
      return 0;
    items = result;
  }
  return items;
}

#endif
