/* Random reads and writes of 16 KiB within one file, so many in flight: what Figure 3 of TxISC (DATE 2025) measures.
 *
 * Arguments, little-endian: uint32 requests, uint32 percent of them that read, uint32 in flight, uint32 stride, uint64
 * seed. Requests go to blocks of 16 KiB of file 0: by xorshift64* (Vigna, 2016), or, if stride is not 0, so many blocks
 * further each time, round and round. With more than one in flight each slot's next
 * request is submitted when its last one has come back, slots in turn; with one each is an ordinary call. Returns
 * uint32 reads, uint32 writes. */
#include <bitline/isc.h>

#define BLOCK_BYTES 16384
#define DEPTH_MAX 64

static struct {
  uint32_t requests, read_percent, depth, stride;
  uint64_t seed;
} asked;

static uint8_t blocks[DEPTH_MAX][BLOCK_BYTES];
static int tickets[DEPTH_MAX];
static uint32_t done[2]; /* reads, writes */

static uint64_t state;

static uint64_t random64(void) {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545f4914f6cdd1dull;
}

/* A number below `bound`, from the upper half of a random one. */
static uint32_t below(uint32_t bound) { return (uint32_t)((random64() >> 32) * bound >> 32); }

static int64_t request(uint32_t number, uint32_t slot, uint32_t count) {
  uint64_t block = asked.stride ? (uint64_t)number * asked.stride % count : below(count);
  int64_t offset = (int64_t)block * BLOCK_BYTES;
  int is_read = below(100) < asked.read_percent;
  done[!is_read]++;
  if (asked.depth == 1)
    return is_read ? isc_pread(0, blocks[0], BLOCK_BYTES, offset) : isc_pwrite(0, blocks[0], BLOCK_BYTES, offset);
  tickets[slot] = is_read ? isc_submit_read(0, blocks[slot], BLOCK_BYTES, offset)
                          : isc_submit_write(0, blocks[slot], BLOCK_BYTES, offset);
  return tickets[slot] < 0 ? tickets[slot] : BLOCK_BYTES;
}

int isc_task(void) {
  if (isc_get_args(&asked, sizeof asked) != sizeof asked) return isc_failed("24 bytes of arguments", -ISC_EINVAL);
  int64_t bytes = isc_file_size(0);
  if (bytes < BLOCK_BYTES) return isc_failed("a file of 16 KiB or more", bytes < 0 ? bytes : -ISC_EINVAL);
  if (asked.depth < 1 || asked.depth > DEPTH_MAX) return isc_failed("1 to 64 in flight", -ISC_EINVAL);
  state = asked.seed | 1;
  uint32_t count = (uint32_t)(bytes / BLOCK_BYTES), begun = 0;
  for (uint32_t i = 0; i < DEPTH_MAX; i++) tickets[i] = -1;
  int64_t got = BLOCK_BYTES;
  for (; begun < asked.requests && got == BLOCK_BYTES; begun++) {
    uint32_t slot = begun % asked.depth;
    if (tickets[slot] >= 0) got = isc_wait(tickets[slot]);
    if (got == BLOCK_BYTES) got = request(begun, slot, count);
  }
  for (uint32_t i = 0; i < asked.depth && got == BLOCK_BYTES; i++) {
    int ticket = tickets[(begun + i) % asked.depth];
    if (ticket >= 0) got = isc_wait(ticket);
  }
  if (got != BLOCK_BYTES) return isc_failed("request", got < 0 ? got : -ISC_EINVAL);
  return isc_put_ret(done, sizeof done);
}
