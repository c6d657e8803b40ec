/* How much frames look like what is asked for: the network's output for it, less the largest of the others.
 *
 * Arguments: the network, then label and how many runs of frames there are, and of each run its first frame and how many it has (uint32
 * each). Returns a score (int32) for each frame, run after run. */
#include "../networks/network.h"

static int8_t frames[NETWORK_NUMBERS];
static int32_t scores[NETWORK_NUMBERS];

int isc_task(void) {
  int64_t at = network_load();
  if (at < 0) return 1;
  const uint32_t *asked = (const uint32_t *)(network.arguments + at), *runs = asked + 2;
  uint32_t label = asked[0], size = network_input(), outputs = network_output(), at_once = network_at_once();
  if (label >= outputs) return 2;
  for (uint32_t run = 0; run < asked[1]; run++)
    for (uint32_t done = 0; done < runs[2 * run + 1]; done += at_once) {
      uint32_t first = runs[2 * run] + done, left = runs[2 * run + 1] - done, count = left < at_once ? left : at_once;
      int64_t bytes = (int64_t)count * size;
      if (isc_pread(0, frames, (size_t)bytes, (int64_t)first * size) != bytes) return 3;
      const int8_t *made = network_apply(frames, count);
      if (!made) return 4;
      for (uint32_t frame = 0; frame < count; frame++, made += outputs) {
        int32_t other = INT8_MIN;
        for (uint32_t output = 0; output < outputs; output++)
          if (output != label && made[output] > other) other = made[output];
        scores[frame] = made[label] - other;
      }
      if (isc_put_ret(scores, count * sizeof *scores)) return 5;
    }
  return 0;
}
