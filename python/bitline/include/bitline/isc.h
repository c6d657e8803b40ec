/* Tasks that run inside a Bitline drive: what a task in C calls.
 *
 * A task is a C function, compiled to WebAssembly by `bitline cc task.c -o task.wasm` and run on a core of the
 * drive's controller. Each run is one transaction over the files registered for it: when isc_task returns 0,
 * what it wrote is committed, all of it or none; when it returns anything else, nothing was written (unless the
 * host asked for a run that is no transaction: isolation file or block). The model
 * and the names are those of TxISC (DATE 2025), section III and Listing 1. Two things differ from the listing:
 * an instance of the module is one run, so no call takes an ISCCtx, and a file is known by its number,
 * counted from 0 in the order of registration.
 *
 * Sizes and offsets are bytes. Calls give a negative error (-ISC_EBADF ...) or a result of 0 or more.
 * What the task cannot help ends the run at once, without coming back here: a conflict with somebody else's
 * write (the first writer wins), a snapshot that is lost, an error of the drive, memory out of bounds.
 *
 *     #include <bitline/isc.h>
 *
 *     int isc_task(void) {
 *       char block[4096];
 *       int64_t got = isc_pread(0, block, sizeof block, 0);
 *       if (got < 0) return isc_failed("read", got);
 *       isc_put_ret(&got, sizeof got);
 *       return 0;
 *     }
 *
 * There are no clocks, no randomness, no standard input and output, no file names. libc's pure functions
 * (string.h, stdlib.h's qsort, malloc and strtol, math.h) are there. What a locale or a file system is needed for is not:
 * printf and snprintf (see isc_log), sscanf, strtod and atof (a decimal number is strtoll of both sides of its point).
 */
#ifndef BITLINE_ISC_H
#define BITLINE_ISC_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Errors, as Linux numbers them. Calls give them negated. */
#define ISC_ENOENT 2  /* no such name in the store (isc_look_up) */
#define ISC_EBADF 9   /* no file, or store, of this number is registered */
#define ISC_EAGAIN 11 /* as many calls, or bytes, are under way as may be: wait for one */
#define ISC_EACCES 13 /* the file is registered for reading only */
#define ISC_EINVAL 22 /* an argument that cannot be: a ticket that is none, or was waited for already */
#define ISC_EFBIG 27  /* the write would go past the file's registered size */
#define ISC_ENOSPC 28 /* the return value or the log is full */
#define ISC_ENOSYS 38 /* the drive does not offer this call to this task */

/* The task, which you write. 0: commit. Anything else: roll back and hand this number to the host. */
int isc_task(void);

/* ---- The drive's own calls ("isc" imports), which everything below is made of. ---- */

#define ISC_IMPORT(name) __attribute__((import_module("isc"), import_name(#name))) extern

ISC_IMPORT(args_size) int32_t isc_import_args_size(void);
ISC_IMPORT(get_args) int32_t isc_import_get_args(void *to, int32_t bytes, int32_t offset);
ISC_IMPORT(parameter) int64_t isc_import_parameter(int32_t number);
ISC_IMPORT(put_ret) int32_t isc_import_put_ret(const void *from, int32_t bytes);
ISC_IMPORT(file_count) int32_t isc_import_file_count(void);
ISC_IMPORT(file_size) int64_t isc_import_file_size(int32_t file);
ISC_IMPORT(file_read) int64_t isc_import_file_read(int32_t file, void *to, int32_t bytes, int64_t offset);
ISC_IMPORT(file_write) int64_t isc_import_file_write(int32_t file, const void *from, int32_t bytes, int64_t offset);
ISC_IMPORT(submit_read) int32_t isc_import_submit_read(int32_t file, void *to, int32_t bytes, int64_t offset);
ISC_IMPORT(submit_write) int32_t isc_import_submit_write(int32_t file, const void *from, int32_t bytes, int64_t offset);
ISC_IMPORT(wait) int64_t isc_import_wait(int32_t ticket);
ISC_IMPORT(log) int32_t isc_import_log(const void *from, int32_t bytes);
ISC_IMPORT(evaluate)
int64_t isc_import_evaluate(const void *expression, int32_t bytes, int64_t bits, int32_t to_file);
ISC_IMPORT(stream_next)
int64_t isc_import_stream_next(void *to, int32_t capacity, uint64_t *offset);
ISC_IMPORT(stream_emit)
int64_t isc_import_stream_emit(const void *from, int32_t bytes);
ISC_IMPORT(look_up)
int64_t isc_import_look_up(int32_t store, const void *name, int32_t bytes, void *to, int32_t capacity);

/* What the drive calls. Weak, so that every source of a task may include this header. */
__attribute__((weak, export_name("isc_main"))) int32_t isc_main(void) { return isc_task(); }

/* ---- Arguments and the return value. ---- */

/* Bytes of the arguments that the host put. */
static inline size_t isc_args_size(void) { return (size_t)isc_import_args_size(); }

/* Copies the first `bytes` bytes of the arguments; gives how many there were to copy. */
static inline size_t isc_get_args(void *to, size_t bytes) {
  return (size_t)isc_import_get_args(to, (int32_t)bytes, 0);
}

/* As isc_get_args, from byte `offset` of the arguments on. */
static inline size_t isc_get_args_at(void *to, size_t bytes, size_t offset) {
  return (size_t)isc_import_get_args(to, (int32_t)bytes, (int32_t)offset);
}

/* A number that the host gives with a run over memory, of which there are two, 0 and 1; 0 in other runs. */
static inline uint64_t isc_parameter(int number) { return (uint64_t)isc_import_parameter(number); }

/* Appends to the value that the host gets. 0, or -ISC_ENOSPC past the run's limit, with nothing appended. */
static inline int isc_put_ret(const void *from, size_t bytes) { return isc_import_put_ret(from, (int32_t)bytes); }

/* ---- Files. ---- */

/* How many files are registered; their numbers are 0 to one less. */
static inline int isc_file_count(void) { return isc_import_file_count(); }

/* Bytes of a file, or -ISC_EBADF. It does not change while the task runs. */
static inline int64_t isc_file_size(int file) { return isc_import_file_size(file); }

/* Reads at `offset`. Gives the bytes read: fewer at the file's end, 0 beyond it. -ISC_EBADF, or -ISC_EINVAL for a negative offset. */
static inline int64_t isc_pread(int file, void *to, size_t bytes, int64_t offset) {
  return isc_import_file_read(file, to, (int32_t)bytes, offset);
}

/* Writes at `offset`, which nobody else sees before the commit. Gives `bytes`, or -ISC_EBADF, -ISC_EACCES, -ISC_EINVAL, or
 * -ISC_EFBIG where the range is not within the file's registered size (then nothing is written). */
static inline int64_t isc_pwrite(int file, const void *from, size_t bytes, int64_t offset) {
  return isc_import_file_write(file, from, (int32_t)bytes, offset);
}

/* Listing 1's calls go on where the one before ended, from byte 0 of the file on. */
#define ISC_POSITIONS 64 /* files that have a position: 0 to 63; others have isc_pread and isc_pwrite */
__attribute__((weak)) int64_t isc_positions[ISC_POSITIONS];

/* Says where the next isc_file_read or isc_file_write of a file begins. 0, or -ISC_EBADF past ISC_POSITIONS. */
static inline int isc_file_seek(int file, int64_t offset) {
  if (file < 0 || file >= ISC_POSITIONS) return -ISC_EBADF;
  isc_positions[file] = offset;
  return 0;
}

/* As isc_pread, at the file's position, which moves by what was read. -ISC_EBADF for files past ISC_POSITIONS. */
static inline int64_t isc_file_read(int file, void *to, size_t bytes) {
  if (file < 0 || file >= ISC_POSITIONS) return -ISC_EBADF;
  int64_t got = isc_pread(file, to, bytes, isc_positions[file]);
  if (got > 0) isc_positions[file] += got;
  return got;
}

/* As isc_pwrite, at the file's position, which moves by what was written. */
static inline int64_t isc_file_write(int file, const void *from, size_t bytes) {
  if (file < 0 || file >= ISC_POSITIONS) return -ISC_EBADF;
  int64_t put = isc_pwrite(file, from, bytes, isc_positions[file]);
  if (put > 0) isc_positions[file] += put;
  return put;
}

/* ---- Reads and writes that go on while the task computes. ----
 * A submission gives a ticket (0 or more), or an error of the synchronous call, or -ISC_EAGAIN over the run's limit of
 * tickets. Until isc_wait has come back, the memory is the call's: do not touch it, nor free it. Wait for
 * every ticket, once, before isc_task returns. */

static inline int isc_submit_read(int file, void *to, size_t bytes, int64_t offset) {
  return isc_import_submit_read(file, to, (int32_t)bytes, offset);
}

static inline int isc_submit_write(int file, const void *from, size_t bytes, int64_t offset) {
  return isc_import_submit_write(file, from, (int32_t)bytes, offset);
}

/* What the synchronous call would have given. -ISC_EINVAL for a ticket that is none; a negative ticket, which is the
 * error of its submission, comes back as it is. */
static inline int64_t isc_wait(int ticket) { return ticket < 0 ? ticket : isc_import_wait(ticket); }

/* ---- Memory: the module's own, up to the run's limit; NULL past it. Freed with the run. ---- */

static inline void *isc_malloc(size_t bytes) { return malloc(bytes); }
static inline void isc_free(void *memory) { free(memory); }

/* ---- Bulk bitwise expressions, evaluated within the flash array where the operands lie there. ----
 * An expression is put together in postfix order, its operands registered files; vectors of a group are best placed:
 *
 *     isc_expression either = {0};
 *     isc_vector(&either, 0), isc_vector(&either, 1), isc_or(&either, 2);
 *     int64_t ones = isc_evaluate(&either, 0, ISC_COUNT);
 */
#define ISC_EXPRESSION_BYTES 2048
typedef struct {
  size_t bytes; /* over ISC_EXPRESSION_BYTES once it had no room for a step */
  uint8_t steps[ISC_EXPRESSION_BYTES];
} isc_expression;

static inline void isc_step(isc_expression *expression, uint8_t code, uint64_t operand, size_t bytes) {
  if (expression->bytes + 1 + bytes > ISC_EXPRESSION_BYTES) {
    expression->bytes = ISC_EXPRESSION_BYTES + 1;
    return;
  }
  expression->steps[expression->bytes++] = code;
  for (size_t i = 0; i < bytes; i++) expression->steps[expression->bytes++] = (uint8_t)(operand >> 8 * i);
}

/* Adds a file; the complement of the last value; the AND, OR or XOR of the last `count` values, at least 2. */
static inline void isc_vector(isc_expression *expression, int file) { isc_step(expression, 1, (uint32_t)file, 8); }
static inline void isc_not(isc_expression *expression) { isc_step(expression, 2, 0, 0); }
static inline void isc_and(isc_expression *expression, unsigned count) { isc_step(expression, 3, count, 2); }
static inline void isc_or(isc_expression *expression, unsigned count) { isc_step(expression, 4, count, 2); }
static inline void isc_xor(isc_expression *expression, unsigned count) { isc_step(expression, 5, count, 2); }

/* Evaluates an expression over the first `bits` bits of its files (0: all that the shortest has), as the task sees them:
 * with its own writes, bit i is bit i % 8, least significant first, of byte i / 8. The result
 * goes to the beginning of `to_file`, registered for writing, zeros after it to the end of its last byte; bytes written are
 * given. With ISC_COUNT its 1 bits are counted instead, and their number given. -ISC_EINVAL for no expression, or more bits
 * than a file has; -ISC_EBADF, -ISC_EACCES; -ISC_EFBIG where the result does not fit. */
#define ISC_COUNT (-1)
static inline int64_t isc_evaluate(const isc_expression *expression, uint64_t bits, int to_file) {
  if (expression->bytes > ISC_EXPRESSION_BYTES) return -ISC_EINVAL;
  return isc_import_evaluate(expression->steps, (int32_t)expression->bytes, (int64_t)bits, to_file);
}

/* ---- Names that the drive looks up within the flash array, in the stores registered for the run. ---- */

/* Looks up a name, all of its `bytes` bytes, in a store; up to `capacity` bytes of the value of the first entry that has it
 * are copied. Gives the bytes of the value, which may be more. What others have appended since the run began is not seen; if
 * they have deleted or updated entries, the run ends with a conflict. -ISC_ENOENT where there is no such name, -ISC_EBADF
 * for no such store, -ISC_EINVAL for a name of another length than the store's. */
static inline int64_t isc_look_up(int store, const void *name, size_t bytes, void *to, size_t capacity) {
  return isc_import_look_up(store, name, (int32_t)bytes, to, (int32_t)capacity);
}

/* A name in an index of a table: its columns one after the other, each the bits of a number, the most significant first. A
 * column that may be null has a bit before them: 1, or 0 and zeros for a null. The value is the table's row.
 *
 *     isc_name number = {0};
 *     isc_name_add(&number, 4711, 32);
 *     int64_t got = isc_look_up_row(0, &number, &row, sizeof row);
 */
#define ISC_NAME_BYTES 1024
typedef struct {
  size_t bits; /* over 8 * ISC_NAME_BYTES once it had no room for a bit */
  uint8_t bytes[ISC_NAME_BYTES];
} isc_name;

/* Adds the lowest `bits` bits of a number, at most 64. Of a signed column, or one of a range, less its least value. */
static inline void isc_name_add(isc_name *name, uint64_t number, unsigned bits) {
  if (name->bits + bits > 8 * ISC_NAME_BYTES) {
    name->bits = 8 * ISC_NAME_BYTES + 1;
    return;
  }
  for (; bits-- > 0; name->bits++) name->bytes[name->bits / 8] |= (uint8_t)((number >> bits & 1) << name->bits % 8);
}

/* As isc_look_up, of such a name. */
static inline int64_t isc_look_up_row(int store, const isc_name *name, void *to, size_t capacity) {
  if (name->bits > 8 * ISC_NAME_BYTES) return -ISC_EINVAL;
  return isc_look_up(store, name->bytes, (name->bits + 7) / 8, to, capacity);
}

/* Looks up a key of a mapping of bytes to bytes (`drive.search.key_value`), made with this `name_bytes`; up to `capacity` bytes
 * of its value are copied. Gives the bytes of the value. -ISC_ENOENT; -ISC_EFBIG for a key of more than `name_bytes` or 256
 * bytes, or an item of more than one entry, which lie apart. */
#define ISC_KEY_BYTES 256
static inline int64_t isc_look_up_key(int store, size_t name_bytes, const void *key, size_t bytes, void *to, size_t capacity) {
  struct {
    uint8_t hash[16];
    uint32_t part, bytes_of_all, key_bytes;
    uint8_t key_and_value[4096];
  } entry;
  uint8_t name[ISC_KEY_BYTES + 2];
  if (bytes > name_bytes || name_bytes > ISC_KEY_BYTES) return -ISC_EFBIG;
  for (size_t i = 0; i < name_bytes; i++) name[i] = i < bytes ? ((const uint8_t *)key)[i] : 0;
  name[name_bytes] = (uint8_t)(bytes >> 8), name[name_bytes + 1] = (uint8_t)bytes;
  int64_t got = isc_look_up(store, name, name_bytes + 2, &entry, sizeof entry);
  if (got < 0) return got;
  size_t whole = entry.bytes_of_all, before = 4 + bytes;
  if (entry.part != 0 || 24 + whole > (size_t)got || 24 + whole > sizeof entry) return -ISC_EFBIG;
  if (entry.key_bytes != bytes || whole < before) return -ISC_ENOENT; /* found by mistake: flash gave a wrong bit */
  for (size_t i = 0; i < bytes; i++)
    if (entry.key_and_value[i] != ((const uint8_t *)key)[i]) return -ISC_ENOENT;
  for (size_t i = 0; i < whole - before && i < capacity; i++) ((uint8_t *)to)[i] = entry.key_and_value[bytes + i];
  return (int64_t)(whole - before);
}

/* ---- Streams: a task that takes the pieces of a file, or of what the host sends, and emits what it makes of them. Several
 * instances of it run side by side, each with a memory of its own; what they emit is brought into the order of the input. ---- */

/* What comes next of the input: up to `capacity` bytes, never of two pieces. `offset`, which may be NULL, is told where they
 * lie in it. Gives the bytes, 0 at the end. -ISC_ENOSYS outside of a stream. Each piece may take as many cycles as the limit
 * says. */
static inline int64_t isc_stream_next(void *to, size_t capacity, uint64_t *offset) {
  uint64_t ignored;
  return isc_import_stream_next(to, (int32_t)capacity, offset ? offset : &ignored);
}

/* Adds to what is made of the piece that came last; after the end, to what comes at the end of all. 0, or -ISC_EINVAL before the
 * first piece, -ISC_EFBIG for more bytes at once than an eighth of the stream's share of `stream.buffer_bytes`. */
static inline int64_t isc_stream_emit(const void *from, size_t bytes) {
  return isc_import_stream_emit(from, (int32_t)bytes);
}

/* ---- The run's log, which the host gets with the status. ---- */

/* Adds text as it is. 0, or -ISC_ENOSPC once the log is full. */
static inline int isc_log_text(const void *text, size_t bytes) { return isc_import_log(text, (int32_t)bytes); }

/* Digits of a number in a base of 2 to 16, before `end`; where the first is. */
static inline char *isc_digits(uint64_t number, unsigned base, char *end) {
  do *--end = "0123456789abcdef"[number % base];
  while (number /= base);
  return end;
}

/* A line of the log while it is made. Only for isc_log. */
typedef struct {
  char *end, *last;
} isc_line;

static inline void isc_line_add(isc_line *line, const char *from, size_t bytes) {
  for (; bytes > 0 && line->end < line->last; bytes--) *line->end++ = *from++;
}

/* Digits of a number before and behind its point, at most 9 of the latter, with a power of ten where it is large. Gives where
 * they begin; they end with `end`. */
__attribute__((unused)) static char *isc_decimals(double number, int precision, char *end) {
  if (number != number) return (char *)__builtin_memcpy(end - 3, "nan", 3);
  if (number > 1.7976931348623157e308) return (char *)__builtin_memcpy(end - 3, "inf", 3);
  unsigned power = 0;
  while (number >= 1e18) number /= 10, power++;
  if (power > 0) {
    while (number >= 10) number /= 10, power++;
    end = isc_digits(power, 10, end);
    *--end = '+', *--end = 'e';
  }
  uint64_t whole = (uint64_t)number, scale = 1;
  for (int digits = 0; digits < precision; digits++) scale *= 10;
  uint64_t rest = (uint64_t)((number - (double)whole) * (double)scale + 0.5);
  if (rest >= scale) rest -= scale, whole++;
  for (int digits = 0; digits < precision; digits++, rest /= 10) *--end = (char)('0' + rest % 10);
  if (precision > 0) *--end = '.';
  return isc_digits(whole, 10, end);
}

/* Adds a line of text, as printf would make it, and a line feed. Understood: %d %i %u %x %X %o %p %c %s %f %% with widths,
 * precisions, the flags - and 0, and lengths; %e, %g and %a are written as %f. Decimals are at most 9, the last rounded. Longer
 * lines are cut at 255 bytes. */
__attribute__((format(printf, 1, 2), unused)) static int isc_log(const char *format, ...) {
  char text[256], digits[80], *const digits_end = digits + sizeof digits;
  isc_line line = {text, text + sizeof text - 1};
  va_list values;
  va_start(values, format);
  for (const char *at = format; *at; at++) {
    if (*at != '%') {
      isc_line_add(&line, at, 1);
      continue;
    }
    const char *const directive = at++;
    int is_left = 0, is_zero = 0, width = 0, precision = -1, is_wide = 0, is_negative = 0, is_number = 1;
    for (; *at == '-' || *at == '+' || *at == ' ' || *at == '#' || *at == '0'; at++) {
      is_left |= *at == '-';
      is_zero |= *at == '0';
    }
    if (*at == '*') width = va_arg(values, int), at++;
    for (; *at >= '0' && *at <= '9'; at++) width = width * 10 + *at - '0';
    if (width < 0) width = -width, is_left = 1;
    if (*at == '.') {
      precision = 0, at++;
      if (*at == '*') precision = va_arg(values, int), at++;
      for (; *at >= '0' && *at <= '9'; at++) precision = precision * 10 + *at - '0';
    }
    for (; *at == 'h' || *at == 'l' || *at == 'z' || *at == 't' || *at == 'j'; at++)
      is_wide += *at == 'j' ? 2 : *at == 'l';
    const char *from = digits_end, *until = digits_end;
    switch (*at) {
      case 's':
        is_number = 0;
        from = until = va_arg(values, const char *);
        while ((precision < 0 || until - from < precision) && *until) until++;
        break;
      case 'c':
        is_number = 0;
        digits[0] = (char)va_arg(values, int);
        from = digits, until = digits + 1;
        break;
      case 'd':
      case 'i': {
        int64_t number = is_wide > 1 ? va_arg(values, long long) : va_arg(values, long);
        is_negative = number < 0;
        from = isc_digits(is_negative ? -(uint64_t)number : (uint64_t)number, 10, digits_end);
        break;
      }
      case 'u':
      case 'x':
      case 'X':
      case 'o':
      case 'p': {
        uint64_t number = is_wide > 1 ? va_arg(values, unsigned long long) : va_arg(values, unsigned long);
        char *first = isc_digits(number, *at == 'u' ? 10 : *at == 'o' ? 8 : 16, digits_end);
        for (char *digit = first; *at == 'X' && digit < digits_end; digit++) *digit -= *digit >= 'a' ? 'a' - 'A' : 0;
        from = first;
        break;
      }
      case 'f':
      case 'F':
      case 'e':
      case 'E':
      case 'g':
      case 'G':
      case 'a':
      case 'A': {
        double number = va_arg(values, double);
        is_negative = number < 0;
        from = isc_decimals(is_negative ? -number : number, precision < 0 ? 6 : precision < 9 ? precision : 9, digits_end);
        break;
      }
      case '%':
        is_number = 0;
        from = at, until = at + 1;
        break;
      default:
        is_number = 0;
        from = directive, until = at + (*at != 0);
        if (!*at) at--;
    }
    int fill = width - (int)(until - from) - is_negative;
    for (; fill > 0 && !is_left && !(is_zero && is_number); fill--) isc_line_add(&line, " ", 1);
    if (is_negative) isc_line_add(&line, "-", 1);
    for (; fill > 0 && !is_left; fill--) isc_line_add(&line, "0", 1);
    isc_line_add(&line, from, (size_t)(until - from));
    for (; fill > 0; fill--) isc_line_add(&line, " ", 1);
  }
  va_end(values);
  *line.end++ = '\n';
  return isc_log_text(text, (size_t)(line.end - text));
}

/* What an error says. */
__attribute__((unused)) static const char *isc_error_name(int64_t error) {
  switch (error) {
    case -ISC_ENOENT: return "ENOENT, no such name";
    case -ISC_EBADF: return "EBADF, no file or store of this number is registered";
    case -ISC_EAGAIN: return "EAGAIN, as many calls or bytes are under way as may be";
    case -ISC_EACCES: return "EACCES, the file is registered for reading only";
    case -ISC_EINVAL: return "EINVAL, an argument that cannot be";
    case -ISC_EFBIG: return "EFBIG, beyond the file's registered size";
    case -ISC_ENOSPC: return "ENOSPC, the return value or the log is full";
    case -ISC_ENOSYS: return "ENOSYS, the drive does not offer this call to this task";
    default: return "no error of the drive";
  }
}

/* Logs which step failed with which error; gives what isc_task should return then, the error as a positive number. */
__attribute__((unused)) static int isc_failed(const char *step, int64_t error) {
  isc_log("%s: error %lld (%s)", step, (long long)-error, isc_error_name(error));
  return error < 0 ? (int)-error : 1;
}

#ifdef __cplusplus
}
#endif

#endif
