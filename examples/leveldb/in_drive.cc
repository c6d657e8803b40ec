// LevelDB's compactions of table files in a drive: what BackgroundCompaction calls in place of LevelDB's own merge,
// which the Makefile has renamed. Flushes of memtables, and which tables are compacted when, stay LevelDB's.
//
// A compaction is a line of JSON to the socket whose number COMPACTION_SOCKET tells: tables, the files that may become
// their successors with the room that each gets, and fields of `Asked` (examples/tasks/compaction.py). The answer is an
// int64, the bytes that the task returned, and these; or -1, which leaves the merge to the host. Without that variable
// the host merges all.
//
// What differs: outputs end by their size alone, and not also where they overlap much of the level after the next; and
// a deletion goes only if no deeper level has keys of the whole range, which LevelDB looks up for each key.
#include <poll.h>
#include <sys/socket.h>

#include "db/db_impl.cc"

namespace leveldb {

class InDrive {
 public:
  InDrive(DBImpl* db, DBImpl::CompactionState* compact)
      : db_(db), compact_(compact), compaction_(compact->compaction) {}

  // As DoCompactionWork: called with the mutex held, which others get while the drive works.
  Status Run(int socket);

 private:
  std::string Request();
  void ListInputs(std::string* names);
  void ListOutputs(std::string* rooms);
  bool IsBaseLevel();
  size_t BitsPerKey();
  Status Ask(int socket, const std::string& request, bool* is_done, std::string* answer);
  void FlushMemTable();
  Status TakeOutputs(Slice answer);
  void AddStats(uint64_t micros);

  DBImpl* const db_;
  DBImpl::CompactionState* const compact_;
  Compaction* const compaction_;
  std::vector<const FileMetaData*> inputs_;
  uint64_t input_bytes_ = 0;
  std::vector<uint64_t> numbers_;  // Of the files that may become outputs.
  uint64_t flush_micros_ = 0;
};

Status DBImpl::DoCompactionWork(CompactionState* compact) {
  const char* socket = getenv("COMPACTION_SOCKET");
  return socket ? InDrive(this, compact).Run(atoi(socket)) : DoCompactionWorkOnHost(compact);
}

Status InDrive::Run(int socket) {
  db_->mutex_.AssertHeld();
  if (db_->user_comparator() != BytewiseComparator() || (db_->options_.filter_policy && BitsPerKey() == 0)) {
    return Status::NotSupported("the task knows LevelDB's own order and filters only");
  }
  const uint64_t start_micros = db_->env_->NowMicros();
  const std::string request = Request();
  Log(db_->options_.info_log, "In the drive: %s", request.c_str());

  db_->mutex_.Unlock();
  bool is_done = false;
  std::string answer;
  Status status = Ask(socket, request, &is_done, &answer);
  if (is_done) status = TakeOutputs(answer);
  db_->mutex_.Lock();

  // Those that became outputs stay protected until CleanupCompaction; the others are gone.
  for (uint64_t number : numbers_) db_->pending_outputs_.erase(number);
  for (const auto& output : compact_->outputs) db_->pending_outputs_.insert(output.number);
  if (status.ok() && !is_done) return db_->DoCompactionWorkOnHost(compact_);
  AddStats(db_->env_->NowMicros() - start_micros - flush_micros_);
  if (status.ok()) status = db_->InstallCompactionResults(compact_);
  if (!status.ok()) db_->RecordBackgroundError(status);
  return status;
}

std::string InDrive::Request() {
  const SnapshotList& snapshots = db_->snapshots_;
  compact_->smallest_snapshot =
      snapshots.empty() ? db_->versions_->LastSequence() : snapshots.oldest()->sequence_number();
  std::string names, rooms;
  ListInputs(&names);
  ListOutputs(&rooms);
  auto as_json = [](bool value) { return value ? "true" : "false"; };
  return "{\"inputs\": [" + names + "], \"outputs\": {" + rooms + "}, \"asked\": {\"smallest_snapshot\": " +
         NumberToString(compact_->smallest_snapshot) + ", \"output_bytes_max\": " +
         NumberToString(compaction_->MaxOutputFileSize()) + ", \"block_bytes\": " +
         NumberToString(db_->options_.block_size) + ", \"is_base_level\": " + as_json(IsBaseLevel()) +
         ", \"is_compressed\": " + as_json(db_->options_.compression == kSnappyCompression) +
         ", \"bits_per_key\": " + NumberToString(BitsPerKey()) + "}}\n";
}

void InDrive::ListInputs(std::string* names) {
  for (int which = 0; which < 2; which++) {
    for (int i = 0; i < compaction_->num_input_files(which); i++) {
      inputs_.push_back(compaction_->input(which, i));
      input_bytes_ += inputs_.back()->file_size;
      *names += (names->empty() ? "\"" : ", \"") + TableFileName(db_->dbname_, inputs_.back()->number) + "\"";
    }
  }
}

// As many files as the inputs' bytes may fill, and an eighth more, as blocks begin elsewhere than they did. Each has
// room for what comes after the bytes at which it ends: the last entry, the index and the filters.
void InDrive::ListOutputs(std::string* rooms) {
  const uint64_t bytes_max = compaction_->MaxOutputFileSize(), slack = bytes_max / 8 + (256 << 10);
  for (uint64_t left = input_bytes_ + input_bytes_ / 8 + 1; left > 0; left -= std::min(left, bytes_max)) {
    numbers_.push_back(db_->versions_->NewFileNumber());
    db_->pending_outputs_.insert(numbers_.back());
    *rooms += (rooms->empty() ? "\"" : ", \"") + TableFileName(db_->dbname_, numbers_.back()) + "\": " +
              NumberToString(std::min(left, bytes_max) + slack);
  }
}

// Whether no deeper level has keys of the range.
bool InDrive::IsBaseLevel() {
  const Comparator* order = db_->user_comparator();
  Slice smallest = inputs_[0]->smallest.user_key(), largest = inputs_[0]->largest.user_key();
  for (const FileMetaData* input : inputs_) {
    if (order->Compare(input->smallest.user_key(), smallest) < 0) smallest = input->smallest.user_key();
    if (order->Compare(input->largest.user_key(), largest) > 0) largest = input->largest.user_key();
  }
  for (int level = compaction_->level() + 2; level < config::kNumLevels; level++) {
    if (db_->versions_->current()->OverlapInLevel(level, &smallest, &largest)) return false;
  }
  return true;
}

// Of LevelDB's Bloom filters, which keep it to themselves: by the length of one of 64 keys. 0: no filters, or others.
size_t InDrive::BitsPerKey() {
  const FilterPolicy* policy = db_->options_.filter_policy;
  if (!policy || strcmp(policy->Name(), "leveldb.BuiltinBloomFilter2") != 0) return 0;
  const std::vector<Slice> keys(64, "internal key");
  std::string filter;
  policy->CreateFilter(keys.data(), static_cast<int>(keys.size()), &filter);
  return (filter.size() - 1) * 8 / keys.size();
}

// Writers would wait for a full memtable: it is flushed while the drive works, as LevelDB's merge does in between.
Status InDrive::Ask(int socket, const std::string& request, bool* is_done, std::string* answer) {
  const ssize_t sent = send(socket, request.data(), request.size(), MSG_NOSIGNAL);
  struct pollfd answered = {socket, POLLIN, 0};
  while (poll(&answered, 1, /*milliseconds=*/1) == 0) FlushMemTable();
  int64_t bytes;
  const bool is_answered = recv(socket, &bytes, sizeof bytes, MSG_WAITALL) == sizeof bytes;
  if (sent != static_cast<ssize_t>(request.size()) || !is_answered) {
    return Status::IOError("nobody has the drive any more");
  }
  if (bytes < 0) return Status::OK();
  answer->resize(bytes);
  *is_done = bytes == 0 || recv(socket, &(*answer)[0], bytes, MSG_WAITALL) == bytes;
  return *is_done ? Status::OK() : Status::IOError("half an answer of the drive");
}

void InDrive::FlushMemTable() {
  if (!db_->has_imm_.load(std::memory_order_relaxed)) return;
  const uint64_t start_micros = db_->env_->NowMicros();
  MutexLock lock(&db_->mutex_);
  const bool is_ending = db_->shutting_down_.load(std::memory_order_acquire);
  if (db_->imm_ != nullptr && db_->bg_error_.ok() && !is_ending) {
    db_->CompactMemTable();
    db_->background_work_finished_signal_.SignalAll();
  }
  flush_micros_ += db_->env_->NowMicros() - start_micros;
}

// Of each output: uint64 bytes, uint64 entries, uint32 sizes of the smallest and the largest key, and these.
Status InDrive::TakeOutputs(Slice answer) {
  const size_t head_bytes = 24, key_bytes_min = 8;  // A key ends with its sequence number and kind.
  for (size_t i = 0; !answer.empty(); i++) {
    if (i == numbers_.size()) return Status::Corruption("the drive tells of more tables than there are files for");
    if (answer.size() < head_bytes) return Status::Corruption("half an output in the drive's answer");
    DBImpl::CompactionState::Output output;
    output.number = numbers_[i];
    output.file_size = DecodeFixed64(answer.data());
    const uint32_t smallest = DecodeFixed32(answer.data() + 16), largest = DecodeFixed32(answer.data() + 20);
    answer.remove_prefix(head_bytes);
    if (std::min(smallest, largest) < key_bytes_min || uint64_t{smallest} + largest > answer.size()) {
      return Status::Corruption("keys in the drive's answer that are none");
    }
    output.smallest.DecodeFrom(Slice(answer.data(), smallest));
    output.largest.DecodeFrom(Slice(answer.data() + smallest, largest));
    answer.remove_prefix(smallest + largest);
    compact_->outputs.push_back(output);
    compact_->total_bytes += output.file_size;
    // As LevelDB asks of its own: is the table usable?
    std::unique_ptr<Iterator> table(
        db_->table_cache_->NewIterator(ReadOptions(), output.number, output.file_size));
    if (!table->status().ok()) return table->status();
  }
  return Status::OK();
}

void InDrive::AddStats(uint64_t micros) {
  DBImpl::CompactionStats stats;
  stats.micros = micros;
  stats.bytes_read = input_bytes_;
  stats.bytes_written = compact_->total_bytes;
  db_->stats_[compaction_->level() + 1].Add(stats);
}

}  // namespace leveldb
