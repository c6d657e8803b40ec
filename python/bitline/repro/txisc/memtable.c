/* Writes a memtable of LevelDB as a table file, as WriteLevel0Table does.
 *
 * Arguments: struct asked below; then its entries in order, each uint32 sizes of the internal key and the value, and these.
 * File 0 is the table. Returns what compaction.c returns of a file: uint64 bytes, uint64 entries, uint32 sizes of the
 * smallest and the largest internal key, and these keys. */
#include "sstable_write.h"

static struct {
  uint32_t block_bytes;
  uint8_t is_compressed, bits_per_key, reserved[2];
} asked;

static struct output out;

int isc_task(void) {
  uint32_t size = (uint32_t)isc_args_size();
  uint8_t *given = malloc(size);
  if (!given || size < sizeof asked) return isc_failed("arguments", -ISC_EINVAL);
  isc_get_args(given, size);
  memcpy(&asked, given, sizeof asked);
  crc32c_prepare();
  out.block_bytes = asked.block_bytes;
  out.is_compressed = asked.is_compressed;
  out.filter.bits_per_key = asked.bits_per_key;
  output_begin(&out, 0);
  const uint8_t *at = given + sizeof asked, *end = given + size, *last = NULL;
  uint32_t sizes[2], last_size = 0;
  int64_t done = 0;
  while (done == 0 && end - at >= (ptrdiff_t)sizeof sizes) {
    memcpy(sizes, at, sizeof sizes);
    at += sizeof sizes;
    if (sizes[0] < 8 || (uint64_t)sizes[0] + sizes[1] > (uint64_t)(end - at))
      return isc_failed("an entry", -ISC_EINVAL);
    last = at;
    last_size = sizes[0];
    done = output_add(&out, at, sizes[0], at + sizes[0], sizes[1]);
    at += sizes[0] + sizes[1];
  }
  if (!last) return isc_failed("no entries", -ISC_EINVAL);
  if (done == 0) done = output_end(&out);
  if (done < 0) return isc_failed("write", done);
  uint64_t file[2] = {(uint64_t)out.offset, out.entries};
  uint32_t keys[2] = {(uint32_t)out.smallest.size, last_size};
  isc_put_ret(file, sizeof file), isc_put_ret(keys, sizeof keys);
  isc_put_ret(out.smallest.at, out.smallest.size);
  return isc_put_ret(last, last_size);
}
