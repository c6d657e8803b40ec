/* The nearest of all features to some queries, in the drive or on a card: products of features and queries, and the KEPT largest of each
 * query. A piece of the stream is some features.
 *
 * Parameters: queries, bytes of a feature (uint32 each), then the queries' features (int8). Emits, for each query, KEPT pairs of
 * product (int32) and number of the feature (uint32), those of each element. */
#include <bitline/operators.h>

#define KEPT 10
#define QUERIES_MAX 1024
#define FEATURE_MAX 2048
#define PIECE_MAX (256 << 10)
/* Products that are looked at together: a window of WINDOW x WINDOW. */
#define WINDOW 8

typedef struct {
  int32_t product;
  uint32_t number;
} hit;

static struct {
  uint32_t queries, feature_bytes;
  int8_t features[1 << 20];
} asked;
static int8_t piece[PIECE_MAX];
static int32_t products[PIECE_MAX * 2], largest[PIECE_MAX * 2 / WINDOW / WINDOW];
static hit hits[QUERIES_MAX][KEPT];

static void keep(hit *kept, int32_t product, uint32_t number) {
  if (product <= kept[KEPT - 1].product) return;
  int at = KEPT - 1;
  for (; at > 0 && kept[at - 1].product < product; at--) kept[at] = kept[at - 1];
  kept[at] = (hit){product, number};
}

int isc_task(void) {
  isc_get_args(&asked, sizeof asked);
  uint32_t queries = asked.queries, bytes = asked.feature_bytes;
  if (queries == 0 || queries > QUERIES_MAX || bytes == 0 || bytes > FEATURE_MAX) return 2;
  for (uint32_t query = 0; query < queries; query++)
    for (int at = 0; at < KEPT; at++) hits[query][at] = (hit){INT32_MIN, 0};
  int64_t got;
  uint64_t begin = 0;
  while ((got = isc_stream_next(piece, sizeof piece, &begin)) > 0) {
    uint32_t rows = (uint32_t)got / bytes, whole = rows / (WINDOW * WINDOW) * (WINDOW * WINDOW);
    uint32_t first = (uint32_t)(begin / bytes), at_once = sizeof products / sizeof *products / (rows ? rows : 1);
    for (uint32_t query = 0; query < queries; query += at_once) {
      uint32_t now = queries - query < at_once ? queries - query : at_once;
      if (isc_matrix_vector(ISC_INT8, rows, bytes, now, piece, asked.features + query * bytes, 0, products)) return 3;
      for (uint32_t of = 0; of < now; of++) {
        int32_t *mine = products + of * rows;
        hit *kept = hits[query + of];
        uint32_t row = 0;
        if (whole) {
          isc_plane plane = {1, whole / WINDOW, WINDOW};
          if (isc_max_pool(ISC_INT32, plane, WINDOW, WINDOW, mine, largest)) return 4;
          for (; row < whole; row += WINDOW * WINDOW)
            if (largest[row / (WINDOW * WINDOW)] > kept[KEPT - 1].product)
              for (uint32_t in = row; in < row + WINDOW * WINDOW; in++) keep(kept, mine[in], first + in);
        }
        for (; row < rows; row++) keep(kept, mine[row], first + row);
      }
    }
  }
  isc_stream_emit(hits, queries * sizeof *hits);
  return got < 0;
}
