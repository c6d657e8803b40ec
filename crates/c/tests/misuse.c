/* What host programs do wrong: each of it is an error of its kind, and changes nothing. Usage: misuse COUNT ECHO TRAP FAIL, the
 * modules of main.rs. Ends with 1 and the line that did not hold. */
#include <bitline/host.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOLDS(what) ((what) ? (void)0 : fail(__LINE__, #what))

static void fail(int line, const char *what) {
  fprintf(stderr, "misuse.c:%d: %s; %s\n", line, what, isc_error_text());
  exit(1);
}

/* Whether the last error says this. */
static int says(const char *text) { return strstr(isc_error_text(), text) != NULL; }

static isc_task load(isc_drive *drive, const char *path) {
  static char module[1 << 16];
  isc_task task;
  FILE *file = fopen(path, "rb");
  HOLDS(file);
  size_t bytes = fread(module, 1, sizeof module, file);
  fclose(file);
  HOLDS(isc_load_task(drive, module, bytes, 0, &task) == 0);
  return task;
}

static isc_context *new_context(isc_drive *drive) {
  isc_context *context;
  HOLDS(isc_new_context(drive, &context) == 0);
  return context;
}

/* No call takes NULL, or a name that was never given, for a drive or context. */
static void names(void *name) {
  isc_drive *drive = name;
  isc_context *context = name, *made;
  isc_task task = {0};
  isc_usage usage;
  isc_limits limits = {0};
  char byte;
  HOLDS(isc_close_drive(drive) == ISC_EHANDLE);
  HOLDS(isc_volume_write(drive, "a", "b", 1) == ISC_EHANDLE);
  HOLDS(isc_volume_read(drive, "a", &byte, 1, 0) == ISC_EHANDLE);
  HOLDS(isc_volume_size(drive, "a") == ISC_EHANDLE);
  HOLDS(isc_volume_remove(drive, "a") == ISC_EHANDLE);
  HOLDS(isc_load_task(drive, "m", 1, 0, &task) == ISC_EHANDLE);
  HOLDS(isc_unload_task(drive, task) == ISC_EHANDLE);
  HOLDS(isc_new_context(drive, &made) == ISC_EHANDLE);
  HOLDS(isc_free_context(context) == ISC_EHANDLE);
  HOLDS(isc_register_file(context, "a", "r") == ISC_EHANDLE);
  HOLDS(isc_register_store(context, "a") == ISC_EHANDLE);
  HOLDS(isc_put_args(context, "a", 1) == ISC_EHANDLE);
  HOLDS(isc_set_isolation(context, ISC_SNAPSHOT) == ISC_EHANDLE);
  HOLDS(isc_set_retries(context, 0) == ISC_EHANDLE);
  HOLDS(isc_set_limits(context, &limits) == ISC_EHANDLE);
  HOLDS(isc_run_task(context, task) == ISC_EHANDLE);
  HOLDS(isc_submit_task(context, task) == ISC_EHANDLE);
  HOLDS(isc_is_finished(context) == ISC_EHANDLE);
  HOLDS(isc_wait_task(context) == ISC_EHANDLE);
  HOLDS(isc_get_ret(context, &byte, 1) == ISC_EHANDLE);
  HOLDS(isc_get_reason(context, &byte, 1) == ISC_EHANDLE);
  HOLDS(isc_get_log(context, &byte, 1) == ISC_EHANDLE);
  HOLDS(isc_get_usage(context, &usage) == ISC_EHANDLE);
  HOLDS(says(name ? "no such context" : "NULL"));
}

static void opening(void) {
  isc_drive *drive;
  HOLDS(isc_open_drive(NULL, NULL, NULL) == ISC_EUSAGE);
  HOLDS(isc_open_drive(NULL, NULL, (isc_drive **)((char *)&drive + 1)) == ISC_EUSAGE && says("aligned"));
  HOLDS(isc_open_drive("preset = \"none such\"", NULL, &drive) == ISC_ECONFIG);
  HOLDS(isc_open_drive("ftl.overprovisionign = 0.1", NULL, &drive) == ISC_ECONFIG && says("overprovisioning"));
  HOLDS(isc_open_drive("= =", NULL, &drive) == ISC_ECONFIG);
  HOLDS(isc_open_drive("\xff", NULL, &drive) == ISC_EUSAGE && says("UTF-8"));
  HOLDS(isc_open_drive("data.storage = \"none\"", "image", &drive) == ISC_EUSAGE);
  HOLDS(isc_open_drive(NULL, "no/such/folder/image", &drive) == ISC_EFILE);
  HOLDS(isc_open_drive(NULL, "/dev/null", &drive) < 0);
}

static void loading(isc_drive *drive, isc_task task) {
  isc_task made = {0};
  const char text[] = "this is a text";
  HOLDS(isc_load_task(drive, text, sizeof text, 0, NULL) == ISC_EUSAGE);
  HOLDS(isc_load_task(drive, NULL, 8, 0, &made) == ISC_EUSAGE);
  HOLDS(isc_load_task(drive, text, SIZE_MAX, 0, &made) == ISC_EUSAGE && says("no memory"));
  HOLDS(isc_load_task(drive, text, (size_t)1 << 63, 0, &made) == ISC_EUSAGE);
  HOLDS(isc_load_task(drive, text, 0, 0, &made) == ISC_EUSAGE);
  HOLDS(isc_load_task(drive, text, sizeof text, 2, &made) == ISC_EUSAGE && says("ISC_PERSISTENT"));
  HOLDS(isc_load_task(drive, text, sizeof text, 0, &made) == ISC_EMODULE && says("no WebAssembly module"));
  HOLDS(made.identifier == 0 && made.index == 0);
  isc_context *context = new_context(drive);
  HOLDS(isc_unload_task(drive, task) == 0);
  HOLDS(isc_unload_task(drive, task) == ISC_ESTATUS);
  HOLDS(isc_run_task(context, task) == ISC_ESTATUS);
  task.reserved[1] = 7;
  HOLDS(isc_run_task(context, task) == ISC_EUSAGE);
  HOLDS(isc_unload_task(drive, task) == ISC_EUSAGE);
  HOLDS(isc_free_context(context) == 0);
}

static void asking(isc_drive *drive, isc_task echo) {
  isc_context *context = new_context(drive);
  isc_limits limits = {.reserved = 1};
  char bytes[8] = "";
  HOLDS(isc_new_context(drive, NULL) == ISC_EUSAGE);
  HOLDS(isc_register_file(context, NULL, "r") == ISC_EUSAGE);
  HOLDS(isc_register_file(context, "a", NULL) == ISC_EUSAGE);
  HOLDS(isc_register_file(context, "a", "a+") == ISC_EUSAGE && says("\"rw\""));
  HOLDS(isc_register_file(context, "\xc3", "r") == ISC_EUSAGE);
  HOLDS(isc_register_store(context, NULL) == ISC_EUSAGE);
  HOLDS(isc_put_args(context, NULL, 0) == 0);
  HOLDS(isc_put_args(context, NULL, 1) == ISC_EUSAGE);
  HOLDS(isc_put_args(context, bytes, SIZE_MAX) == ISC_EUSAGE);
  HOLDS(isc_set_isolation(context, 4) == ISC_EUSAGE);
  HOLDS(isc_set_isolation(context, -1) == ISC_EUSAGE);
  HOLDS(isc_set_retries(context, 65536) == ISC_EUSAGE);
  HOLDS(isc_set_limits(context, NULL) == ISC_EUSAGE);
  HOLDS(isc_set_limits(context, &limits) == ISC_EUSAGE);
  HOLDS(isc_set_limits(context, (isc_limits *)((char *)&limits + 1)) == ISC_EUSAGE);

  /* None of this has left anything: it runs, and gives back no argument. */
  HOLDS(isc_get_ret(context, bytes, 1) == ISC_EUSAGE && says("not run yet"));
  HOLDS(isc_wait_task(context) == ISC_EUSAGE);
  HOLDS(isc_is_finished(context) == ISC_EUSAGE);
  HOLDS(isc_run_task(context, echo) == ISC_COMMITTED);
  HOLDS(isc_get_ret(context, bytes, sizeof bytes) == 0);

  HOLDS(isc_put_args(context, "abcd", 4) == 0);
  HOLDS(isc_submit_task(context, echo) == 0);
  HOLDS(isc_submit_task(context, echo) == ISC_EUSAGE && says("in flight"));
  HOLDS(isc_run_task(context, echo) == ISC_EUSAGE);
  HOLDS(isc_put_args(context, "e", 1) == ISC_EUSAGE);
  HOLDS(isc_get_ret(context, bytes, 1) == ISC_EUSAGE);
  HOLDS(isc_is_finished(context) == 0);
  HOLDS(isc_wait_task(context) == ISC_COMMITTED);
  HOLDS(isc_wait_task(context) == ISC_EUSAGE);
  HOLDS(isc_get_ret(context, NULL, 0) == 4);
  HOLDS(isc_get_ret(context, NULL, 4) == ISC_EUSAGE);
  HOLDS(isc_get_ret(context, bytes, 2) == 4 && !memcmp(bytes, "ab\0", 3));
  HOLDS(isc_get_ret(context, bytes, sizeof bytes) == 4 && !memcmp(bytes, "abcd\0", 5));
  HOLDS(isc_get_log(context, bytes, sizeof bytes) == 4 && !strcmp(bytes, "abcd"));
  HOLDS(isc_get_log(context, bytes, 3) == 4 && !strcmp(bytes, "ab"));
  HOLDS(isc_get_log(context, NULL, 0) == 4);
  HOLDS(isc_get_usage(context, NULL) == ISC_EUSAGE);

  HOLDS(isc_register_file(context, "nobody", "r") == 0);
  HOLDS(isc_run_task(context, echo) == ISC_ENOTFOUND && says("nobody"));
  HOLDS(isc_get_ret(context, bytes, 1) == ISC_EUSAGE);
  HOLDS(isc_free_context(context) == 0);
  HOLDS(isc_free_context(context) == ISC_EHANDLE);
  context = new_context(drive);
  HOLDS(isc_register_store(context, "nobody") == 0);
  HOLDS(isc_run_task(context, echo) == ISC_ENOTFOUND && says("nobody"));
  HOLDS(isc_free_context(context) == 0);
}

static void ending(isc_drive *drive, isc_task echo, isc_task trap, isc_task give_up) {
  isc_context *context = new_context(drive);
  char reason[200];
  isc_usage usage;
  HOLDS(isc_run_task(context, trap) == ISC_TRAPPED);
  HOLDS(isc_get_reason(context, reason, sizeof reason) > 0 && *reason);
  int64_t bytes = isc_get_reason(context, reason, 5);
  HOLDS(bytes > 4 && strlen(reason) == 4);
  HOLDS(isc_run_task(context, give_up) == ISC_FAILED);
  HOLDS(isc_get_usage(context, &usage) == 0 && usage.code == -7 && usage.attempts == 1 && usage.cycles > 0);
  isc_limits limits = {.memory_bytes = UINT64_MAX};
  HOLDS(isc_set_limits(context, &limits) == 0);
  HOLDS(isc_run_task(context, echo) == ISC_REJECTED);
  HOLDS(isc_get_reason(context, reason, sizeof reason) > 0 && *reason);
  limits = (isc_limits){.return_bytes = UINT32_MAX};
  HOLDS(isc_set_limits(context, &limits) == 0);
  HOLDS(isc_run_task(context, echo) == ISC_EUSAGE);
  HOLDS(isc_free_context(context) == 0);
}

/* Many runs over the same bytes: without retries the first one commits, with them all do. */
static void conflicts(isc_drive *drive, isc_task count, unsigned retries) {
  enum { RUNS = 6 };
  isc_context *runs[RUNS];
  uint64_t before, after, committed = 0;
  HOLDS(isc_volume_read(drive, "number", &before, 8, 0) == 8);
  for (int run = 0; run < RUNS; run++) {
    runs[run] = new_context(drive);
    HOLDS(isc_register_file(runs[run], "number", "rw") == 0);
    HOLDS(isc_set_retries(runs[run], retries) == 0);
    HOLDS(isc_submit_task(runs[run], count) == 0);
  }
  for (int run = 0; run < RUNS; run++) {
    int status = isc_wait_task(runs[run]);
    HOLDS(status == ISC_COMMITTED || status == ISC_CONFLICT);
    committed += status == ISC_COMMITTED;
    HOLDS(isc_free_context(runs[run]) == 0);
  }
  HOLDS(retries ? committed == RUNS : committed >= 1 && committed < RUNS);
  HOLDS(isc_volume_read(drive, "number", &after, 8, 0) == 8);
  HOLDS(after == before + committed);
}

static void files(isc_drive *drive) {
  char bytes[8];
  HOLDS(isc_volume_write(drive, NULL, "a", 1) == ISC_EUSAGE);
  HOLDS(isc_volume_write(drive, "", "a", 1) == ISC_EUSAGE);
  HOLDS(isc_volume_write(drive, "f", NULL, 1) == ISC_EUSAGE);
  HOLDS(isc_volume_write(drive, "f", bytes, SIZE_MAX) == ISC_EUSAGE);
  HOLDS(isc_volume_size(drive, "f") == ISC_ENOTFOUND);
  HOLDS(isc_volume_write(drive, "f", "abc", 3) == 0);
  HOLDS(isc_volume_size(drive, "f") == 3);
  HOLDS(isc_volume_read(drive, "f", bytes, sizeof bytes, 1) == 2 && !memcmp(bytes, "bc", 2));
  HOLDS(isc_volume_read(drive, "f", bytes, sizeof bytes, 3) == 0);
  HOLDS(isc_volume_read(drive, "f", bytes, sizeof bytes, UINT64_MAX) == 0);
  HOLDS(isc_volume_read(drive, "f", NULL, 1, 0) == ISC_EUSAGE);
  HOLDS(isc_volume_read(drive, "f", bytes, SIZE_MAX, 0) == ISC_EUSAGE);
  HOLDS(isc_volume_remove(drive, "f") == 0);
  HOLDS(isc_volume_remove(drive, "f") == ISC_ENOTFOUND);
}

/* A drive is nobody's but its thread's. */
static void *elsewhere(void *drive) {
  HOLDS(*isc_error_text() == 0);
  HOLDS(isc_volume_size(drive, "number") == ISC_EHANDLE);
  HOLDS(isc_close_drive(drive) == ISC_EHANDLE && says("another thread"));
  isc_drive *own;
  HOLDS(isc_open_drive("data.storage = \"none\"", NULL, &own) == 0);
  HOLDS(own != drive);
  return own;
}

int main(int count, char **modules) {
  HOLDS(count == 5);
  HOLDS(*isc_error_text() == 0);
  names(NULL);
  names((void *)12345);
  opening();
  isc_drive *drive;
  HOLDS(isc_open_drive(NULL, NULL, &drive) == 0);
  HOLDS(isc_volume_write(drive, "number", (uint64_t[]){0}, 8) == 0);
  isc_task add = load(drive, modules[1]), echo = load(drive, modules[2]);
  isc_task trap = load(drive, modules[3]), give_up = load(drive, modules[4]);
  files(drive);
  asking(drive, echo);
  ending(drive, echo, trap, give_up);
  conflicts(drive, add, 0);
  conflicts(drive, add, 100);
  loading(drive, trap);

  pthread_t thread;
  void *others;
  HOLDS(pthread_create(&thread, NULL, elsewhere, drive) == 0 && pthread_join(thread, &others) == 0);
  names(others);

  isc_context *over = new_context(drive), *waiting = new_context(drive);
  names((char *)over + 1);
  HOLDS(isc_close_drive((isc_drive *)over) == ISC_EHANDLE);
  HOLDS(isc_free_context((isc_context *)drive) == ISC_EHANDLE);
  HOLDS(isc_put_args(over, "abcd", 4) == 0 && isc_run_task(over, echo) == ISC_COMMITTED);
  HOLDS(isc_submit_task(waiting, echo) == 0);
  HOLDS(isc_close_drive(drive) == 0);
  HOLDS(isc_wait_task(waiting) == ISC_EHANDLE);
  HOLDS(isc_run_task(over, echo) == ISC_EHANDLE);
  HOLDS(isc_free_context(waiting) == 0 && isc_free_context(over) == 0);
  names(drive);
  names(over);
  return 0;
}
