/* A feature of each item, by the network among the parameters. A piece of the stream is some items. */
#include "../networks/network.h"

static int8_t piece[256 << 10];

int isc_task(void) {
  if (network_load() < 0) return 1;
  uint32_t size = network_input(), at_once = network_at_once();
  int64_t got;
  while ((got = isc_stream_next(piece, sizeof piece, 0)) > 0) {
    uint32_t items = (uint32_t)got / size;
    for (uint32_t first = 0; first < items; first += at_once) {
      uint32_t count = items - first < at_once ? items - first : at_once;
      const int8_t *made = network_apply(piece + (size_t)first * size, count);
      if (!made) return 2;
      isc_stream_emit(made, (size_t)count * network_output());
    }
  }
  return got < 0;
}
