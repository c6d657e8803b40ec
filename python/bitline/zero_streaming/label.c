/* A label for one frame of so many, while frames come: which output of the network is the largest. A piece of the stream is some frames.
 *
 * Parameters: the network, then how many frames there are for each label (uint32). Emits number (uint32) and label (int32) of a frame. */
#include "../networks/network.h"

static int8_t piece[256 << 10];

int isc_task(void) {
  int64_t at = network_load(), got;
  uint32_t every = at < 0 ? 0 : *(const uint32_t *)(network.arguments + at), size = network_input();
  if (every == 0) return 1;
  uint64_t begin = 0;
  while ((got = isc_stream_next(piece, sizeof piece, &begin)) > 0) {
    uint32_t number = (uint32_t)(begin / size), end = number + (uint32_t)got / size;
    for (uint32_t frame = (number + every - 1) / every * every; frame < end; frame += every) {
      const int8_t *made = network_apply(piece + (size_t)(frame - number) * size, 1);
      if (!made) return 2;
      int32_t label[2] = {(int32_t)frame, 0};
      for (uint32_t output = 1; output < network_output(); output++)
        if (made[output] > made[label[1]]) label[1] = (int32_t)output;
      isc_stream_emit(label, sizeof label);
    }
  }
  return got < 0;
}
