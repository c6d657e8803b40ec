/* Features of items by a network, in the drive or on a card: a stack of equal layers, each a matrix of CHANNELS x CHANNELS on some vectors,
 * and a last one that gives the feature. A piece of the stream is an item.
 *
 * Parameters: layers, vectors, bytes of a feature (uint32 each). Where there is data the weights would follow; what this is for
 * keeps time only, and its weights are there from the beginning. */
#include <bitline/operators.h>

#ifndef CHANNELS
#define CHANNELS 768
#endif
#define LAYERS_MAX 160
#define VECTORS_MAX 256
#define ITEM_MAX (2 << 20)

static int8_t weights[LAYERS_MAX][CHANNELS][CHANNELS];
static int8_t item[ITEM_MAX], activations[VECTORS_MAX][CHANNELS];
static int32_t sums[VECTORS_MAX][CHANNELS];

int isc_task(void) {
  uint32_t shape[3];
  if (isc_get_args(shape, sizeof shape) < (int)sizeof shape) return 1;
  uint32_t layers = shape[0], vectors = shape[1], feature_bytes = shape[2];
  if (layers > LAYERS_MAX || vectors > VECTORS_MAX || feature_bytes > CHANNELS) return 2;
  int64_t got;
  while ((got = isc_stream_next(item, sizeof item, 0)) > 0) {
    for (uint32_t layer = 0; layer < layers; layer++) {
      if (isc_matrix_vector(ISC_INT8, CHANNELS, CHANNELS, vectors, weights[layer], activations, 0, sums)) return 3;
      if (isc_narrow(vectors * CHANNELS, 8, sums[0], activations[0])) return 4;
    }
    isc_stream_emit(activations, feature_bytes);
  }
  return got < 0;
}
