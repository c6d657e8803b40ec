/* Host programs of a Bitline drive: what a program in C calls to run tasks inside one.
 *
 * The drive lives in the calling process, in simulated time, which passes while a call waits. A task is a WebAssembly
 * module, compiled by `bitline cc` against <bitline/isc.h>; each run of it is one transaction over the files registered
 * for it. The model and the names are those of TxISC (DATE 2025), section III and Listing 1. Three things differ from
 * the listing: a drive has to be opened, a context is made for it, and a file is the object of the drive's volume that
 * has the name.
 *
 *     #include <bitline/host.h>
 *
 *     isc_drive *drive;
 *     isc_task checksum;
 *     isc_context *context;
 *     uint32_t sum;
 *     if (isc_open_drive(NULL, "drive.img", &drive) < 0) return 1;
 *     if (isc_load_task(drive, module, module_bytes, 0, &checksum) < 0) return 1;
 *     if (isc_new_context(drive, &context) < 0) return 1;
 *     int32_t id[2] = {isc_register_file(context, "in", "r"), isc_register_file(context, "out", "w")};
 *     isc_put_args(context, id, sizeof id);
 *     if (isc_run_task(context, checksum) == ISC_COMMITTED) isc_get_ret(context, &sum, sizeof sum);
 *
 * Sizes and offsets are bytes; texts are UTF-8 and end with a zero. Calls give a negative number, an isc_error, where
 * they could not do it, and isc_error_text says why; else 0 or what each says.
 *
 * A drive and its contexts belong to the thread that opened the drive. What C has of one is a name, not memory: one that
 * was given up, or is another thread's, is told as ISC_EHANDLE, whenever it is used. So are NULL and numbers that cannot
 * be told, as ISC_EUSAGE. Memory that the caller hands over is the caller's to vouch for. An error inside the library
 * (ISC_EINTERNAL) ends the drive that it struck, as a power cut does, and nothing else.
 */
#ifndef BITLINE_HOST_H
#define BITLINE_HOST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A drive in this process. */
typedef struct isc_drive isc_drive;

/* What a run is asked to do, and then what became of it: ISCCtx of the listing. */
typedef struct isc_context isc_context;

/* A task that a drive has loaded, of isc_load_task: any number of runs use it. To be copied as it is. */
typedef struct {
  uint64_t identifier;
  uint16_t index;
  uint16_t reserved[3];
} isc_task;

/* ---- Errors. ---- */

typedef enum {
  ISC_EUSAGE = -1,    /* what was asked for makes no sense, or not now */
  ISC_EHANDLE = -2,   /* no such drive or context: NULL, given up, or another thread's */
  ISC_ECONFIG = -3,   /* a configuration that makes no drive */
  ISC_ENOTFOUND = -4, /* nothing has the name */
  ISC_EMODULE = -5,   /* the module is none that can run */
  ISC_ESTATUS = -6,   /* the drive reports another status than success, such as No Program */
  ISC_EIMAGE = -7,    /* the image is damaged, in use, no image, or made for another drive */
  ISC_EFILE = -8,     /* the operating system refused to read or write a file */
  ISC_EPOWER = -9,    /* the drive has no power */
  ISC_EINTERNAL = -10, /* the drive is broken, or Bitline is */
  ISC_ESTREAM = -11    /* a stream has failed: its task, or what it reads or writes */
} isc_error;

/* What the last call of this thread that failed says about it, as a sentence; empty before the first one. The text stays
 * until the next call of this thread fails. */
const char *isc_error_text(void);

/* ---- Drives. ---- */

/* Opens a drive. `config` is TOML text: `preset = "flash-cosmos"`, and keys that override it, one a line
 * (docs/reference/configuration.md); NULL is the usual preset, or the drive that the image was made for. `image` is the path of
 * a file that keeps the drive's bits, made if it is not there; NULL keeps them in memory, until the drive is closed.
 * ISC_ECONFIG, ISC_EIMAGE, ISC_EFILE. */
int isc_open_drive(const char *config, const char *image, isc_drive **drive);

/* Lets everything in flight finish, saves the drive to its image, and gives up its name; runs that were not waited for
 * cannot be any more. A drive that cannot be saved stays open: ISC_EFILE. A thread or process that ends without it cuts
 * the power: what was acknowledged is in the image. */
int isc_close_drive(isc_drive *drive);

/* Gives what is asked of the drive from now on a priority: reads, writes, runs and streams. Where the drive ranks requests
 * (schedule.policy = "priority_aware"), what has the highest of priority + 1 / size in GiB goes first; 0 is usual. */
int isc_set_priority(isc_drive *drive, uint32_t priority);

/* ---- Files of the drive's volume. ---- */

/* Makes a file of `bytes` bytes, or replaces one: all of it or, after a power cut, none. */
int isc_volume_write(isc_drive *drive, const char *name, const void *from, size_t bytes);

/* Reads a file, table or array at `offset`. Gives the bytes read: fewer at the end, 0 beyond it. ISC_ENOTFOUND. */
int64_t isc_volume_read(isc_drive *drive, const char *name, void *to, size_t bytes, uint64_t offset);

/* Bytes of a file, table or array. ISC_ENOTFOUND. */
int64_t isc_volume_size(isc_drive *drive, const char *name);

/* Removes an object, once no run uses it. ISC_ENOTFOUND. */
int isc_volume_remove(isc_drive *drive, const char *name);

/* ---- Tasks. ---- */

#define ISC_PERSISTENT 1u /* the drive keeps the module through power cycles */

/* Loads a module, unless the drive has it, and makes it ready to run. ISC_EMODULE says what is wrong with it; ISC_EUSAGE
 * if the drive has as many as it may; ISC_ESTATUS, such as Program Too Big. */
int isc_load_task(isc_drive *drive, const void *module, size_t module_bytes, unsigned flags, isc_task *task);

/* Unloads a task. ISC_ESTATUS: No Program; Program In Use while it runs. */
int isc_unload_task(isc_drive *drive, isc_task task);

/* ---- Contexts: what a run is asked to do. ----
 * None of these calls is allowed while the context's run is in flight: ISC_EUSAGE. What was asked stays for the next run. */

/* How a run is kept apart from others (docs/tasks.md). */
typedef enum {
  ISC_SNAPSHOT = 0,     /* a transaction under snapshot isolation: the usual */
  ISC_SERIALIZABLE = 1, /* the same, which conflicts with changes of what it read, too */
  ISC_FILE = 2,         /* none: to compare with */
  ISC_BLOCK = 3         /* none: to compare with */
} isc_isolation;

/* What a run may use; 0 is what is usual. `reserved` is 0. */
typedef struct {
  uint64_t memory_bytes;
  uint64_t cycles;
  uint32_t log_bytes;
  uint32_t return_bytes;
  uint32_t tickets; /* calls of the task that may be under way at once */
  uint32_t reserved;
} isc_limits;

/* Makes a context for runs on a drive, without files and arguments. Any number of them are in flight together. */
int isc_new_context(isc_drive *drive, isc_context **context);

/* Gives a context up, also one whose drive is closed. A run in flight goes on. */
int isc_free_context(isc_context *context);

/* Registers a file, table, array, or a vector as "group/name". `mode` is "r", or "w" or "rw" to write it, too; its length
 * stays what it is. Gives the number by which the task calls it, from 0. Whether there is such a file is told by the run. */
int isc_register_file(isc_context *context, const char *name, const char *mode);

/* Registers a store in which the task may look names up: its name for the first name field, the name, a slash and a number
 * for another. Gives the number by which the task calls it, from 0. */
int isc_register_store(isc_context *context, const char *name);

/* Appends to the arguments. */
int isc_put_args(isc_context *context, const void *from, size_t bytes);

/* Says how runs are kept apart: one of isc_isolation. */
int isc_set_isolation(isc_context *context, int isolation);

/* Says how often a run is begun anew after a conflict, at most 65535 times: 10 us later at first, then twice as long each
 * time, up to 5 ms. 0 at first. */
int isc_set_retries(isc_context *context, unsigned retries);

/* Says what runs may use. */
int isc_set_limits(isc_context *context, const isc_limits *limits);

/* ---- Runs. ---- */

/* How a run ended. Whatever else than ISC_COMMITTED: nothing that it wrote is there. */
typedef enum {
  ISC_COMMITTED = 0,
  ISC_CONFLICT = 1, /* somebody else was first */
  ISC_FAILED = 2,   /* it returned another number than 0, which is in isc_usage */
  ISC_TRAPPED = 3,  /* it did what no program can, or took more cycles than it may */
  ISC_REJECTED = 4, /* it was not begun: it asks for more than it may have */
  ISC_LOST = 5,     /* what the files were when it began is not kept any more, for lack of memory */
  ISC_FAULTED = 6,  /* the flash could not be read or written */
  ISC_STOPPED = 7,  /* it was broken off: its namespace was being erased */
  ISC_FULL = 8      /* there was no room for what it wrote */
} isc_status;

/* What a run took. */
typedef struct {
  uint64_t cycles;       /* of a core, all attempts together */
  uint64_t memory_bytes; /* the most that it had */
  uint64_t nanoseconds;  /* simulated time in the drive, from when it had the request until the outcome was there */
  uint32_t attempts;     /* how often it was begun: more than once only after conflicts */
  int32_t code;          /* what a task that failed returned; else 0 */
} isc_usage;

/* Runs a task, and waits until it is over. Gives an isc_status. An error says that none was begun: ISC_ENOTFOUND for a file
 * or store, ISC_ESTATUS for a task that was unloaded, ISC_EUSAGE. */
int isc_run_task(isc_context *context, isc_task task);

/* Begins to run a task and goes on. Time passes, and runs go on, in calls that wait, of whatever of the same drive. Errors of
 * the request are told by isc_wait_task. */
int isc_submit_task(isc_context *context, isc_task task);

/* 1 if the run of the context is over, so that isc_wait_task takes no time; else 0. */
int isc_is_finished(isc_context *context);

/* Waits until the run of the context is over. Gives what isc_run_task gives. */
int isc_wait_task(isc_context *context);

/* What became of the last run, while there is no other in flight; ISC_EUSAGE before the first one, or if none was begun. */

/* Copies what the task returned, up to `bytes` bytes; gives how many there were to copy. */
int64_t isc_get_ret(isc_context *context, void *to, size_t bytes);

/* Copies why the run did not commit, up to `bytes` bytes with the zero at its end; gives the bytes of the whole text. */
int64_t isc_get_reason(isc_context *context, char *to, size_t bytes);

/* The same of what the task logged. */
int64_t isc_get_log(isc_context *context, char *to, size_t bytes);

/* Tells what the run took. */
int isc_get_usage(isc_context *context, isc_usage *usage);

/* ---- Filestreams (TH-iSSD, Table 1): files as tasks make them, read while they are being made (docs/streams.md). ----
 * isc_load_task is the paper's reg_task, and isc_put_args its send_params. */

typedef struct isc_stream isc_stream;

#define ISC_HOST (-1) /* in the place of a file: the host sends the input, or fetches the output */

/* Opens a stream of what a context registers: files, stores and arguments, isolation and limits; the context may be used anew or
 * given up then. `input` and `output` are numbers of its files, or ISC_HOST. ISC_ENOTFOUND; ISC_ESTATUS, such as Stream Limit
 * Reached. */
int isc_fsopen(isc_context *context, isc_task task, int input, int output, isc_stream **stream);

/* Reads what comes next: `bytes` bytes, fewer before the end, 0 at it. ISC_ESTREAM if the stream has failed, with the reason in
 * isc_error_text(); ISC_EUSAGE if its file was removed, replaced or resized meanwhile: it is stopped then. */
int64_t isc_fsread(isc_stream *stream, void *to, size_t bytes);

/* Sends what the stream is to take next. Gives `bytes`. Errors as isc_fsread; ISC_ESTATUS where the input is a file. */
int64_t isc_fswrite(isc_stream *stream, const void *from, size_t bytes);

/* Says that no more will be sent. Output that goes to a file is there when this returns, for good. Errors as isc_fswrite. */
int isc_fsfinish(isc_stream *stream);

/* Closes a stream; one that is not over is stopped, and what it wrote is rolled back. */
int isc_fsclose(isc_stream *stream);

#ifdef __cplusplus
}
#endif

#endif
