// LevelDB's compactions of table files in a drive: what BackgroundCompaction calls in place of LevelDB's own merge, which
// the Makefile has renamed. Flushes of memtables, and all that is decided about compactions, stay LevelDB's.
//
// A compaction is a line of JSON, written to the socket whose number COMPACTION_SOCKET tells, with what db_bench.py passes on:
// the files, and the fields of `Asked` (examples/tasks/compaction.py). What comes back is an int64, the bytes that the task
// returned, and these; or -1 if the drive could not, which leaves the compaction to the host. Without that variable the host
// does all of them.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "db/db_impl.cc"

namespace leveldb {

class InDrive {
 public:
  InDrive(DBImpl* db, DBImpl::CompactionState* compact)
      : db_(db), compact_(compact), compaction_(compact->compaction) {}

  // As DoCompactionWork: called with the mutex held, which others get while the drive works.
  Status Run(int socket);

 private:
  // What goes into an output beyond the bytes at which it ends: its last entry, index and filters.
  static constexpr uint64_t kSlack = 512 << 10;

  std::string Request();
  std::string Inputs();
  std::string Outputs();
  bool IsBaseLevel();
  size_t BitsPerKey();
  Status Ask(int socket, const std::string& request, int64_t* bytes, std::string* answer);
  void FlushMemTable();
  Status TakeOutputs(Slice answer);
  void AddStats(uint64_t micros);

  DBImpl* const db_;
  DBImpl::CompactionState* const compact_;
  Compaction* const compaction_;
  std::vector<uint64_t> numbers_;  // Of the files that the outputs may become.
  uint64_t bytes_read_ = 0;
  uint64_t flush_micros_ = 0;
};

Status DBImpl::DoCompactionWork(CompactionState* compact) {
  const char* socket = getenv("COMPACTION_SOCKET");
  return socket ? InDrive(this, compact).Run(atoi(socket)) : DoCompactionWorkOnHost(compact);
}

Status InDrive::Run(int socket) {
  db_->mutex_.AssertHeld();
  const bool is_known = db_->user_comparator() == BytewiseComparator() && (BitsPerKey() > 0 || !db_->options_.filter_policy);
  if (!is_known) return Status::NotSupported("drives know LevelDB's own order and filters only");
  const uint64_t start_micros = db_->env_->NowMicros();
  const std::string request = Request();
  Log(db_->options_.info_log, "In the drive: %s", request.c_str());

  db_->mutex_.Unlock();
  int64_t bytes = 0;
  std::string answer;
  Status status = Ask(socket, request, &bytes, &answer);
  if (status.ok()) status = TakeOutputs(answer);
  db_->mutex_.Lock();

  // Those of outputs are protected until CleanupCompaction.
  for (uint64_t number : numbers_) db_->pending_outputs_.erase(number);
  for (const auto& output : compact_->outputs) db_->pending_outputs_.insert(output.number);
  if (status.ok() && bytes < 0) return db_->DoCompactionWorkOnHost(compact_);
  AddStats(db_->env_->NowMicros() - start_micros - flush_micros_);
  if (status.ok()) status = db_->InstallCompactionResults(compact_);
  if (!status.ok()) db_->RecordBackgroundError(status);
  return status;
}

std::string InDrive::Request() {
  const SnapshotList& snapshots = db_->snapshots_;
  compact_->smallest_snapshot = snapshots.empty() ? db_->versions_->LastSequence() : snapshots.oldest()->sequence_number();
  const std::string inputs = Inputs();
  char asked[300];
  snprintf(asked, sizeof asked,
           "\"smallest_snapshot\": %llu, \"output_bytes_max\": %llu, \"block_bytes\": %zu, \"is_base_level\": %s, "
           "\"is_compressed\": %s, \"bits_per_key\": %zu",
           static_cast<unsigned long long>(compact_->smallest_snapshot),
           static_cast<unsigned long long>(compaction_->MaxOutputFileSize()), db_->options_.block_size,
           IsBaseLevel() ? "true" : "false", db_->options_.compression == kSnappyCompression ? "true" : "false", BitsPerKey());
  return "{\"inputs\": [" + inputs + "], \"outputs\": {" + Outputs() + "}, \"asked\": {" + asked + "}}\n";
}

// Those of a level are older than those of the one above, as the task does not need to know: of two versions the sequence
// numbers tell.
std::string InDrive::Inputs() {
  std::string names;
  for (int which = 0; which < 2; which++) {
    for (int i = 0; i < compaction_->num_input_files(which); i++) {
      const FileMetaData* file = compaction_->input(which, i);
      bytes_read_ += file->file_size;
      names += (names.empty() ? "\"" : ", \"") + TableFileName(db_->dbname_, file->number) + "\"";
    }
  }
  return names;
}

// As many files as the inputs' bytes may fill, and an eighth more, as blocks begin elsewhere than they did.
std::string InDrive::Outputs() {
  const uint64_t bytes_max = compaction_->MaxOutputFileSize();
  std::string rooms;
  for (uint64_t left = bytes_read_ + bytes_read_ / 8 + 1; left > 0; left -= std::min(left, bytes_max)) {
    numbers_.push_back(db_->versions_->NewFileNumber());
    db_->pending_outputs_.insert(numbers_.back());
    rooms += (rooms.empty() ? "\"" : ", \"") + TableFileName(db_->dbname_, numbers_.back()) +
             "\": " + NumberToString(std::min(left, bytes_max) + kSlack);
  }
  return rooms;
}

// Whether no deeper level has keys of the range. LevelDB asks that of each key; deletions that stay go at a deeper level.
bool InDrive::IsBaseLevel() {
  const Comparator* order = db_->user_comparator();
  Slice smallest = compaction_->input(0, 0)->smallest.user_key(), largest = compaction_->input(0, 0)->largest.user_key();
  for (int which = 0; which < 2; which++) {
    for (int i = 0; i < compaction_->num_input_files(which); i++) {
      const FileMetaData* file = compaction_->input(which, i);
      if (order->Compare(file->smallest.user_key(), smallest) < 0) smallest = file->smallest.user_key();
      if (order->Compare(file->largest.user_key(), largest) > 0) largest = file->largest.user_key();
    }
  }
  for (int level = compaction_->level() + 2; level < config::kNumLevels; level++) {
    if (db_->versions_->current()->OverlapInLevel(level, &smallest, &largest)) return false;
  }
  return true;
}

// Of LevelDB's Bloom filters, which keep it to themselves: by the length of one of 64 keys. 0 for no filters, or others.
size_t InDrive::BitsPerKey() {
  const FilterPolicy* policy = db_->options_.filter_policy;
  if (!policy || strcmp(policy->Name(), "leveldb.BuiltinBloomFilter2") != 0) return 0;
  const std::vector<Slice> keys(64, "internal key");
  std::string filter;
  policy->CreateFilter(keys.data(), static_cast<int>(keys.size()), &filter);
  return (filter.size() - 1) * 8 / keys.size();
}

// Writers would wait for a memtable that is full: it is flushed while the drive works, as LevelDB's merge does in between.
Status InDrive::Ask(int socket, const std::string& request, int64_t* bytes, std::string* answer) {
  const ssize_t sent = send(socket, request.data(), request.size(), MSG_NOSIGNAL);
  struct pollfd answered = {socket, POLLIN, 0};
  while (poll(&answered, 1, /*milliseconds=*/1) == 0) FlushMemTable();
  const bool is_answered = recv(socket, bytes, sizeof *bytes, MSG_WAITALL) == sizeof *bytes;
  if (sent != static_cast<ssize_t>(request.size()) || !is_answered) return Status::IOError("nobody has the drive any more");
  if (*bytes > 0) {
    answer->resize(*bytes);
    if (recv(socket, &(*answer)[0], *bytes, MSG_WAITALL) != *bytes) return Status::IOError("half an answer");
  }
  return Status::OK();
}

void InDrive::FlushMemTable() {
  if (!db_->has_imm_.load(std::memory_order_relaxed) || db_->shutting_down_.load(std::memory_order_acquire)) return;
  const uint64_t start_micros = db_->env_->NowMicros();
  MutexLock lock(&db_->mutex_);
  if (db_->imm_ != nullptr && db_->bg_error_.ok()) {
    db_->CompactMemTable();
    db_->background_work_finished_signal_.SignalAll();
  }
  flush_micros_ += db_->env_->NowMicros() - start_micros;
}

// Of each output: uint64 bytes, uint64 entries, uint32 sizes of the smallest and the largest key, and these.
Status InDrive::TakeOutputs(Slice answer) {
  for (uint64_t number : numbers_) {
    if (answer.empty()) break;
    DBImpl::CompactionState::Output output;
    output.number = number;
    output.file_size = DecodeFixed64(answer.data());
    const uint32_t sizes[2] = {DecodeFixed32(answer.data() + 16), DecodeFixed32(answer.data() + 20)};
    answer.remove_prefix(24);
    output.smallest.DecodeFrom(Slice(answer.data(), sizes[0]));
    output.largest.DecodeFrom(Slice(answer.data() + sizes[0], sizes[1]));
    answer.remove_prefix(sizes[0] + sizes[1]);
    compact_->outputs.push_back(output);
    compact_->total_bytes += output.file_size;
    // As LevelDB does with its own: is the table usable?
    std::unique_ptr<Iterator> table(db_->table_cache_->NewIterator(ReadOptions(), number, output.file_size));
    if (!table->status().ok()) return table->status();
  }
  return Status::OK();
}

void InDrive::AddStats(uint64_t micros) {
  DBImpl::CompactionStats stats;
  stats.micros = micros;
  stats.bytes_read = bytes_read_;
  stats.bytes_written = compact_->total_bytes;
  db_->stats_[compaction_->level() + 1].Add(stats);
}

}  // namespace leveldb
