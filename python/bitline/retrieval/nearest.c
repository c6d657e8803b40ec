/* The nearest of all features to each of some queries, by the square of their distance. A piece of the stream is some features.
 *
 * Parameters: queries, bytes of a feature, how many are kept of each query (uint32 each), then the queries' features (int8). At the
 * end each element emits, for each query, as many pairs of distance and number (uint32 each), nearest first; of equal ones the one
 * that comes first. Where there are fewer, the distance is UINT32_MAX. */
#include <bitline/operators.h>

#define PIECE_BYTES (256 << 10)
#define QUERY_BYTES (64 << 10)
#define HITS (1 << 14)

typedef struct {
  uint32_t distance, number;
} hit;

static struct {
  uint32_t queries, bytes, kept;
  int8_t features[QUERY_BYTES];
} asked;
static int8_t piece[PIECE_BYTES];
static int32_t products[PIECE_BYTES];
static hit hits[HITS];

static uint32_t square(const int8_t *feature, uint32_t bytes) {
  uint32_t sum = 0;
  for (uint32_t at = 0; at < bytes; at++) sum += (uint32_t)((int32_t)feature[at] * feature[at]);
  return sum;
}

static void keep(hit *kept, uint32_t distance, uint32_t number) {
  uint32_t at = asked.kept - 1;
  if (distance >= kept[at].distance) return;
  for (; at > 0 && kept[at - 1].distance > distance; at--) kept[at] = kept[at - 1];
  kept[at] = (hit){distance, number};
}

int isc_task(void) {
  isc_get_args(&asked, sizeof asked);
  uint32_t bytes = asked.bytes;
  if (asked.queries == 0 || bytes == 0 || asked.kept == 0) return 1;
  if ((uint64_t)asked.queries * bytes > QUERY_BYTES || (uint64_t)asked.queries * asked.kept > HITS) return 2;
  for (uint32_t at = 0; at < asked.queries * asked.kept; at++) hits[at] = (hit){UINT32_MAX, 0};
  int64_t got;
  uint64_t begin = 0;
  while ((got = isc_stream_next(piece, sizeof piece, &begin)) > 0) {
    uint32_t rows = (uint32_t)got / bytes, first = (uint32_t)(begin / bytes);
    uint32_t at_once = PIECE_BYTES / (rows ? rows : 1);
    for (uint32_t query = 0; query < asked.queries; query += at_once) {
      uint32_t now = asked.queries - query < at_once ? asked.queries - query : at_once;
      const int8_t *features = asked.features + (size_t)query * bytes;
      if (isc_matrix_vector(ISC_INT8, rows, bytes, now, piece, features, 0, products)) return 3;
      for (uint32_t row = 0; row < rows; row++) {
        uint32_t own = square(piece + (size_t)row * bytes, bytes);
        for (uint32_t of = 0; of < now; of++) {
          uint32_t distance = own + square(features + (size_t)of * bytes, bytes) - 2u * (uint32_t)products[of * rows + row];
          keep(hits + (query + of) * asked.kept, distance, first + row);
        }
      }
    }
  }
  isc_stream_emit(hits, sizeof(hit) * asked.queries * asked.kept);
  return got < 0;
}
