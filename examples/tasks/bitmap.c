/* Decompression of a bitmap in Word-Aligned Hybrid code (WAH: Wu, Otoo, Shoshani, SSDBM 2002), with 32-bit words.
 *
 * A word (little-endian) with bit 31 clear is literal: its bits 0 to 30 are the next 31 bits of the bitmap, bit 0
 * first. With bit 31 set it is a fill: bits 0 to 29 count groups of 31 bits, which all are bit 30. The bitmap is
 * as long as the output file; the last group may run past its end. Bit i of the bitmap is bit i % 8 of byte i / 8.
 *
 * Arguments: the numbers of the input and the output file, 2 x int32. Returns the bytes written, int64. Memory is
 * four pieces, whatever the sizes: while one piece is decoded the next is read, and the one before is written.
 * The twin is bitmap.py. */
#include <bitline/isc.h>
#include <string.h>

/* Bytes of a piece of the input, and of the output. */
#define PIECE_BYTES (256 << 10)
#define PIECE_WORDS (PIECE_BYTES / 4)

/* The input, a piece ahead. */
static struct {
  int file, ticket, now;
  int64_t next; /* where the read under way begins */
  size_t at, count;
  uint32_t words[2][PIECE_WORDS];
} in;

/* The output, a piece behind. */
static struct {
  int file, ticket, now;
  int64_t offset, size; /* where the piece in memory goes; the file's bytes */
  size_t count;
  uint32_t words[2][PIECE_WORDS];
} out;

/* Bits that make no whole word yet. */
static uint64_t pending;
static unsigned pending_bits;

static void read_ahead(void) {
  in.ticket = isc_submit_read(in.file, in.words[!in.now], PIECE_BYTES, in.next);
  in.next += PIECE_BYTES;
}

/* Takes the piece that was read ahead; the words in it, 0 at the end, or an error. */
static int64_t refill(void) {
  int64_t got = isc_wait(in.ticket);
  if (got <= 0) return got;
  if (got % 4) return -ISC_EINVAL;
  in.now = !in.now;
  in.at = 0;
  in.count = (size_t)got / 4;
  read_ahead();
  return (int64_t)in.count;
}

/* Sends the piece in memory off, as far as it is within the file. */
static int64_t flush(void) {
  int64_t bytes = (int64_t)out.count * 4, left = out.size - out.offset;
  if (bytes > left) bytes = left;
  if (out.ticket >= 0) {
    int64_t put = isc_wait(out.ticket);
    out.ticket = -1;
    if (put < 0) return put;
  }
  if (bytes > 0) {
    out.ticket = isc_submit_write(out.file, out.words[out.now], (size_t)bytes, out.offset);
    if (out.ticket < 0) return out.ticket;
  }
  out.offset += bytes;
  out.now = !out.now;
  out.count = 0;
  return 0;
}

static int64_t put_word(uint32_t word) {
  out.words[out.now][out.count++] = word;
  return out.count == PIECE_WORDS ? flush() : 0;
}

static int64_t literal(uint32_t bits) {
  pending |= (uint64_t)bits << pending_bits;
  pending_bits += 31;
  if (pending_bits < 32) return 0;
  int64_t done = put_word((uint32_t)pending);
  pending >>= 32;
  pending_bits -= 32;
  return done;
}

static int64_t fill(uint32_t is_set, uint64_t bits) {
  /* No more than the file takes: a damaged count ends here, not after minutes. */
  uint64_t room = (uint64_t)(out.size - out.offset - (int64_t)out.count * 4) * 8;
  if (bits > room) bits = room;
  while (bits > 0 && pending_bits % 32) {
    unsigned some = 32 - pending_bits < bits ? 32 - pending_bits : (unsigned)bits;
    if (is_set) pending |= ((1ull << some) - 1) << pending_bits;
    pending_bits += some;
    bits -= some;
  }
  int64_t done = 0;
  if (pending_bits == 32) {
    done = put_word((uint32_t)pending);
    pending = pending_bits = 0;
  }
  while (bits >= 32 && done == 0) {
    size_t words = (size_t)(bits / 32), room_now = PIECE_WORDS - out.count;
    if (words > room_now) words = room_now;
    memset(out.words[out.now] + out.count, is_set ? 0xff : 0, words * 4);
    out.count += words;
    bits -= words * 32ull;
    if (out.count == PIECE_WORDS) done = flush();
  }
  if (bits > 0 && done == 0) {
    pending = is_set ? (1ull << bits) - 1 : 0;
    pending_bits = (unsigned)bits;
  }
  return done;
}

static int64_t decode(void) {
  int64_t got;
  while ((got = refill()) > 0) {
    for (; in.at < in.count; in.at++) {
      uint32_t word = in.words[in.now][in.at];
      int64_t done =
          word >> 31 ? fill(word >> 30 & 1, (word & 0x3fffffffu) * 31ull) : literal(word & 0x7fffffffu);
      if (done < 0) return done;
    }
  }
  return got;
}

int isc_task(void) {
  int32_t id[2];
  if (isc_get_args(id, sizeof id) != sizeof id) return isc_failed("two file numbers as arguments", -ISC_EINVAL);
  in.file = id[0];
  out.file = id[1];
  out.ticket = -1;
  out.size = isc_file_size(out.file);
  if (out.size < 0) return isc_failed("output file", out.size);
  read_ahead();
  int64_t done = decode();
  if (done < 0) return isc_failed("decode", done);
  if (pending_bits > 0) done = put_word((uint32_t)pending);
  if (done == 0) done = flush();
  if (done == 0 && out.ticket >= 0) done = isc_wait(out.ticket);
  if (done < 0) return isc_failed("write", done);
  if (out.offset != out.size) {
    isc_log("the input ends after %lld of %lld bytes", out.offset, out.size);
    return ISC_EINVAL;
  }
  return isc_put_ret(&out.offset, sizeof out.offset);
}
