/* Reads a LevelDB table file entry by entry, a block ahead. */
#ifndef SSTABLE_READ_H
#define SSTABLE_READ_H

#include "sstable.h"

/* The entries of one block, one after the other. */
struct cursor {
  const uint8_t *at, *end; /* what is left of the entries */
  struct bytes key;
  const uint8_t *value;
  size_t value_size;
};

struct input {
  int file;
  int64_t file_bytes;
  struct bytes index, block; /* contents, decompressed */
  struct cursor in_index, in_block;
  /* The block that is read ahead, if any, with its trailer. */
  struct bytes ahead;
  struct handle ahead_at;
  int ticket, is_ahead;
  int is_done;
};

/* Begins with a block's contents. 0, or -ISC_EINVAL where the list of restarts cannot be. */
static int64_t cursor_begin(struct cursor *cursor, const struct bytes *block) {
  uint32_t restarts;
  if (block->size < 4) return -ISC_EINVAL;
  memcpy(&restarts, block->at + block->size - 4, 4);
  if (restarts > (block->size - 4) / 4) return -ISC_EINVAL;
  cursor->at = block->at;
  cursor->end = block->at + block->size - 4 - 4 * (size_t)restarts;
  cursor->key.size = 0;
  return 0;
}

/* Goes to the next entry: 1, 0 at the end, or -ISC_EINVAL. */
static int64_t cursor_next(struct cursor *cursor) {
  if (cursor->at == cursor->end) return 0;
  uint64_t shared, own, value;
  const uint8_t *at = varint(cursor->at, cursor->end, &shared);
  if (at) at = varint(at, cursor->end, &own);
  if (at) at = varint(at, cursor->end, &value);
  if (!at || shared > cursor->key.size) return -ISC_EINVAL;
  uint64_t left = (uint64_t)(cursor->end - at);
  if (own > left || value > left - own || shared + own < 8) return -ISC_EINVAL;
  cursor->key.size = (size_t)shared;
  bytes_append(&cursor->key, at, (size_t)own);
  cursor->value = at + own;
  cursor->value_size = (size_t)value;
  cursor->at = at + own + value;
  return 1;
}

/* Checks and decompresses a block that was read with its trailer. 0, or -ISC_EINVAL. */
static int64_t block_open(const struct bytes *raw, size_t size, struct bytes *block) {
  uint32_t sum;
  memcpy(&sum, raw->at + size + 1, 4);
  if (sum != crc32c_masked(raw->at, size + 1)) return -ISC_EINVAL;
  if (raw->at[size] == PLAIN) {
    bytes_set(block, raw->at, size);
    return 0;
  }
  size_t elements;
  int64_t length = raw->at[size] == SNAPPY ? snappy_length(raw->at, size, &elements) : -1;
  /* Three bytes of a copy make 64 at most: a damaged length takes no memory. */
  if (length < 0 || length > (int64_t)size * 64) return -ISC_EINVAL;
  bytes_reserve(block, (size_t)length);
  block->size = (size_t)length;
  /* The trailer is the five bytes behind the elements. */
  return snappy_decompress(raw->at + elements, size - elements, block->at, (size_t)length);
}

static int64_t check_handle(const struct input *in, struct handle at) {
  uint64_t all = (uint64_t)in->file_bytes;
  return at.size > all || at.offset > all || at.offset + at.size + TRAILER_BYTES > all ? -ISC_EINVAL : 0;
}

/* Submits the read of the next data block, if there is one. */
static int64_t read_ahead(struct input *in) {
  int64_t found = cursor_next(&in->in_index);
  in->is_ahead = found > 0;
  if (found <= 0) return found;
  const uint8_t *value = in->in_index.value;
  if (!handle_read(value, value + in->in_index.value_size, &in->ahead_at) || check_handle(in, in->ahead_at))
    return -ISC_EINVAL;
  size_t bytes = (size_t)in->ahead_at.size + TRAILER_BYTES;
  bytes_reserve(&in->ahead, bytes);
  in->ticket = isc_submit_read(in->file, in->ahead.at, bytes, (int64_t)in->ahead_at.offset);
  return in->ticket < 0 ? in->ticket : 0;
}

/* Opens the block that was read ahead, and reads the one behind it. */
static int64_t next_block(struct input *in) {
  int64_t done = isc_wait(in->ticket);
  if (done >= 0) done = block_open(&in->ahead, (size_t)in->ahead_at.size, &in->block);
  if (done == 0) done = cursor_begin(&in->in_block, &in->block);
  if (done < 0) {
    isc_log("file %d: the block at byte %llu is damaged", in->file, in->ahead_at.offset);
    return done;
  }
  return read_ahead(in);
}

/* Goes to the next entry, of which `in_block` has key and value; sets is_done behind the last. 0 or an error. */
static int64_t input_next(struct input *in) {
  int64_t found;
  while ((found = cursor_next(&in->in_block)) == 0) {
    if (!in->is_ahead) {
      in->is_done = 1;
      return 0;
    }
    int64_t done = next_block(in);
    if (done < 0) return done;
  }
  return found < 0 ? found : 0;
}

/* Opens a table file at its first entry. */
static int64_t input_open(struct input *in, int file) {
  uint8_t footer[FOOTER_BYTES];
  struct handle metaindex, index;
  uint64_t magic;
  in->file = file;
  in->file_bytes = isc_file_size(file);
  if (in->file_bytes < FOOTER_BYTES) return in->file_bytes < 0 ? in->file_bytes : -ISC_EINVAL;
  int64_t got = isc_pread(file, footer, FOOTER_BYTES, in->file_bytes - FOOTER_BYTES);
  if (got < 0) return got;
  memcpy(&magic, footer + FOOTER_BYTES - 8, 8);
  const uint8_t *end = footer + FOOTER_BYTES - 8, *at = handle_read(footer, end, &metaindex);
  if (magic != MAGIC || !at || !handle_read(at, end, &index) || check_handle(in, index)) return -ISC_EINVAL;
  size_t bytes = (size_t)index.size + TRAILER_BYTES;
  bytes_reserve(&in->ahead, bytes);
  got = isc_pread(file, in->ahead.at, bytes, (int64_t)index.offset);
  if (got >= 0) got = block_open(&in->ahead, (size_t)index.size, &in->index);
  if (got == 0) got = cursor_begin(&in->in_index, &in->index);
  if (got == 0) got = read_ahead(in);
  return got < 0 ? got : input_next(in);
}

#endif
