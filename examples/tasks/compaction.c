/* A compaction of LevelDB: merges table files (SSTables) into new ones, as DBImpl::DoCompactionWork does.
 *
 * Of each user's key only what somebody may still see is kept: the newest version, and those that snapshots need; a
 * deletion goes, too, where no deeper level has the key. Blocks of the input may be compressed by Snappy.
 *
 * Arguments: struct asked below. Files 0 to inputs - 1 are read; outputs are those behind them, registered with as much
 * room as they may need. Returns for each output that was written uint64 bytes, uint64 entries, uint32 sizes of the
 * smallest and the largest internal key, and these keys: what the host truncates the file by and notes in its
 * manifest. Memory: two pieces, and of each input its index and two blocks. The twin is compaction.py. */
#include "sstable_read.h"
#include "sstable_write.h"

#define INPUTS_MAX 64

static struct {
  uint32_t inputs, outputs;
  uint64_t smallest_snapshot; /* sequence number: what is older than the newest up to it, nobody sees */
  uint64_t output_bytes_max;  /* a file that is as long is ended */
  uint32_t block_bytes;       /* a block that is as long is ended; LevelDB's default is 4096 */
  uint8_t is_base_level;      /* no deeper level has keys of the range */
  uint8_t is_compressed;      /* outputs, by Snappy */
  uint8_t bits_per_key;       /* of Bloom filters in outputs; 0: none */
  uint8_t reserved[1];
} asked;

static struct input inputs[INPUTS_MAX];
static struct output out;
static uint32_t outputs_used;
static int is_open;

/* The user's key before, and the sequence number of what was last seen of it. */
static struct bytes current;
static uint64_t last_sequence;
static int is_new_user;

/* The input whose entry comes next; NULL at the end. Of equal keys, that registered first. */
static struct input *first_of_inputs(void) {
  struct input *first = NULL;
  for (uint32_t i = 0; i < asked.inputs; i++) {
    if (inputs[i].is_done) continue;
    const struct bytes *key = &inputs[i].in_block.key;
    if (!first || compare(key->at, key->size, first->in_block.key.at, first->in_block.key.size) < 0) first = &inputs[i];
  }
  return first;
}

/* Whether nobody sees an entry any more. */
static int is_dropped(const uint8_t *key, size_t size) {
  uint64_t tag = tag_of(key, size), sequence = tag >> 8;
  int is_first = current.size == 0 || compare_users(current.at, current.size, key, size) != 0;
  /* Before a key's first entry everything is newer. */
  uint64_t newer = is_first ? UINT64_MAX : last_sequence;
  if (is_first) bytes_set(&current, key, size);
  is_new_user |= is_first;
  last_sequence = sequence;
  if (newer <= asked.smallest_snapshot) return 1;
  return (tag & 0xff) == DELETION && sequence <= asked.smallest_snapshot && asked.is_base_level;
}

/* Ends the open output and tells the host of it. */
static int64_t end_output(void) {
  static struct bytes largest;
  const struct bytes *last = out.block.last.size ? &out.block.last : &out.index.last;
  bytes_set(&largest, last->at, last->size);
  int64_t done = output_end(&out);
  if (done < 0) {
    isc_log("file %d has room for %lld bytes", out.file, out.file_bytes);
    return done;
  }
  is_open = 0;
  uint64_t sizes[2] = {(uint64_t)out.offset, out.entries};
  uint32_t keys[2] = {(uint32_t)out.smallest.size, (uint32_t)largest.size};
  done = isc_put_ret(sizes, sizeof sizes);
  if (done == 0) done = isc_put_ret(keys, sizeof keys);
  if (done == 0) done = isc_put_ret(out.smallest.at, out.smallest.size);
  return done == 0 ? isc_put_ret(largest.at, largest.size) : done;
}

static int64_t keep(const struct cursor *entry) {
  /* All versions of a key stay in one file. */
  if (is_open && is_new_user && (uint64_t)output_bytes(&out) >= asked.output_bytes_max) {
    int64_t done = end_output();
    if (done < 0) return done;
  }
  is_new_user = 0;
  if (!is_open) {
    if (outputs_used == asked.outputs) {
      isc_log("more than %u output files are needed", asked.outputs);
      return -ISC_ENOSPC;
    }
    output_begin(&out, (int)(asked.inputs + outputs_used++));
    is_open = 1;
  }
  int64_t done = output_add(&out, entry->key.at, entry->key.size, entry->value, entry->value_size);
  if (done < 0) isc_log("file %d has room for %lld bytes", out.file, out.file_bytes);
  return done;
}

static int64_t merge(void) {
  struct input *from;
  int64_t done = 0;
  while (done == 0 && (from = first_of_inputs())) {
    const struct cursor *entry = &from->in_block;
    if (!is_dropped(entry->key.at, entry->key.size)) done = keep(entry);
    if (done == 0) done = input_next(from);
  }
  return done == 0 && is_open ? end_output() : done;
}

int isc_task(void) {
  if (isc_get_args(&asked, sizeof asked) < offsetof(__typeof__(asked), reserved))
    return isc_failed("arguments", -ISC_EINVAL);
  if (asked.inputs == 0 || asked.inputs > INPUTS_MAX || asked.block_bytes < 64)
    return isc_failed("1 to 64 inputs, and blocks of 64 bytes or more", -ISC_EINVAL);
  crc32c_prepare();
  out.block_bytes = asked.block_bytes;
  out.is_compressed = asked.is_compressed;
  out.filter.bits_per_key = asked.bits_per_key;
  for (uint32_t i = 0; i < asked.inputs; i++) {
    int64_t done = input_open(&inputs[i], (int)i);
    if (done < 0) {
      isc_log("file %u is no table", i);
      return isc_failed("open", done);
    }
  }
  int64_t done = merge();
  return done < 0 ? isc_failed("merge", done) : 0;
}
