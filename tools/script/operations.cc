// The table of script operations.
#include "tools/script/operations.h"

#include <array>

namespace oncelog::tools::script {
namespace {

using enum FieldKind;

constexpr std::string_view kDurabilityWords = "durable|written";
constexpr std::string_view kIsolationWords = "read_uncommitted|read_committed";
constexpr std::string_view kOriginWords = "client|coordinator|replica";

constexpr std::array kMs{FieldRule{"ms", kInteger, true}};
constexpr std::array kOpen{FieldRule{"log", kString},
                           FieldRule{"config", kObject},
                           FieldRule{"onDamage", kWord, false, "fail|read_only|cut"},
                           FieldRule{"onHoledTail", kWord, false, "cut|fail"},
                           FieldRule{"durability", kWord, false, kDurabilityWords},
                           FieldRule{"visibility", kWord, false, "durable|written|embedder"}};
constexpr std::array kPowerCut{
    FieldRule{"mode", kWord, true, "none_kept|all_kept|prefix|subset|torn"},
    FieldRule{"seed", kInteger}};
constexpr std::array kAppend{FieldRule{"log", kString},
                             FieldRule{"producerId", kInteger},
                             FieldRule{"producerEpoch", kInteger},
                             FieldRule{"baseSequence", kInteger},
                             FieldRule{"count", kInteger},
                             FieldRule{"transactional", kBoolean},
                             FieldRule{"origin", kWord, false, kOriginWords},
                             FieldRule{"codec", kWord, false, "none|gzip|snappy|lz4|zstd"},
                             FieldRule{"leaderEpoch", kInteger},
                             FieldRule{"timestampMs", kInteger},
                             FieldRule{"timestamps", kIntegers},
                             FieldRule{"keys", kStringsOrNull},
                             FieldRule{"values", kStringsOrNull},
                             FieldRule{"valueBytes", kInteger},
                             FieldRule{"baseOffset", kInteger},
                             FieldRule{"guard", kInteger},
                             FieldRule{"durability", kWord, false, kDurabilityWords}};
constexpr std::array kAppendRaw{FieldRule{"log", kString},
                                FieldRule{"base64", kString, true},
                                FieldRule{"origin", kWord, false, kOriginWords},
                                FieldRule{"leaderEpoch", kInteger},
                                FieldRule{"guard", kInteger},
                                FieldRule{"durability", kWord, false, kDurabilityWords}};
constexpr std::array kMarker{FieldRule{"log", kString},
                             FieldRule{"type", kWord, true, "commit|abort"},
                             FieldRule{"producerId", kInteger, true},
                             FieldRule{"producerEpoch", kInteger, true},
                             FieldRule{"coordinatorEpoch", kInteger},
                             FieldRule{"timestampMs", kInteger},
                             FieldRule{"transactionVersion", kInteger}};
constexpr std::array kVerifyStart{
    FieldRule{"log", kString}, FieldRule{"producerId", kInteger, true},
    FieldRule{"producerEpoch", kInteger, true}, FieldRule{"baseSequence", kInteger, true},
    FieldRule{"transactionVersion", kInteger}};
constexpr std::array kLogOnly{FieldRule{"log", kString}};
constexpr std::array kOffset{FieldRule{"log", kString}, FieldRule{"offset", kInteger, true}};
constexpr std::array kEpoch{FieldRule{"log", kString}, FieldRule{"epoch", kInteger, true}};
constexpr std::array kFetch{FieldRule{"log", kString}, FieldRule{"offset", kInteger, true},
                            FieldRule{"maxBytes", kInteger},
                            FieldRule{"isolation", kWord, false, kIsolationWords}};
constexpr std::array kReadAll{FieldRule{"log", kString},
                              FieldRule{"isolation", kWord, false, kIsolationWords},
                              FieldRule{"from", kInteger}};
constexpr std::array kListOffsets{FieldRule{"log", kString}, FieldRule{"timestamp", kInteger, true},
                                  FieldRule{"isolation", kWord, false, kIsolationWords}};
constexpr std::array kFiles{FieldRule{"log", kString}, FieldRule{"glob", kString}};
constexpr std::array kFileXor{FieldRule{"log", kString}, FieldRule{"file", kString, true},
                              FieldRule{"at", kInteger}, FieldRule{"mask", kInteger, true}};
constexpr std::array kFileTruncate{FieldRule{"log", kString}, FieldRule{"file", kString, true},
                                   FieldRule{"size", kInteger, true}};
constexpr std::array kFileWrite{FieldRule{"log", kString}, FieldRule{"file", kString, true},
                                FieldRule{"at", kInteger}, FieldRule{"base64", kString},
                                FieldRule{"zeros", kInteger}};
constexpr std::array kFileAppend{FieldRule{"log", kString}, FieldRule{"file", kString, true},
                                 FieldRule{"base64", kString}, FieldRule{"zeros", kInteger}};
constexpr std::array kFileRemove{FieldRule{"log", kString}, FieldRule{"file", kString, true}};
constexpr std::array kFileTo{FieldRule{"log", kString}, FieldRule{"file", kString, true},
                             FieldRule{"to", kString, true}};
constexpr std::array kFault{
    FieldRule{"on", kWord, true, "write|fsync|read|create|rename|truncate|unlink|fsync_dir"},
    FieldRule{"nth", kInteger},
    FieldRule{"times", kInteger},
    FieldRule{"error", kWord, false, "EIO|ENOSPC|EROFS|EINTR|EAGAIN|ECANCELED"},
    FieldRule{"short", kInteger},
    FieldRule{"lie", kBoolean},
    FieldRule{"file", kString}};
constexpr std::array kCapacity{FieldRule{"bytes", kInteger, true}};

constexpr std::array kOperations{OperationRule{"clock", Place::kRunner, kMs},
                                 OperationRule{"advance", Place::kRunner, kMs},
                                 OperationRule{"open", Place::kStore, kOpen},
                                 OperationRule{"close", Place::kLog, kLogOnly},
                                 OperationRule{"kill", Place::kRunner, {}},
                                 OperationRule{"power_cut", Place::kRunner, kPowerCut},
                                 OperationRule{"append", Place::kLog, kAppend},
                                 OperationRule{"append_raw", Place::kLog, kAppendRaw},
                                 OperationRule{"marker", Place::kLog, kMarker},
                                 OperationRule{"verify_start", Place::kLog, kVerifyStart},
                                 OperationRule{"roll", Place::kLog, kLogOnly},
                                 OperationRule{"flush", Place::kLog, kLogOnly},
                                 OperationRule{"expire_producers", Place::kLog, kLogOnly},
                                 OperationRule{"retention", Place::kLog, kLogOnly},
                                 OperationRule{"high_watermark", Place::kLog, kOffset},
                                 OperationRule{"leader_epoch", Place::kLog, kEpoch},
                                 OperationRule{"delete_records", Place::kLog, kOffset},
                                 OperationRule{"truncate", Place::kLog, kOffset},
                                 OperationRule{"truncate_fully", Place::kLog, kOffset},
                                 OperationRule{"fetch", Place::kLog, kFetch},
                                 OperationRule{"read_all", Place::kLog, kReadAll},
                                 OperationRule{"list_offsets", Place::kLog, kListOffsets},
                                 OperationRule{"end_offset_for_epoch", Place::kLog, kEpoch},
                                 OperationRule{"state", Place::kLog, kLogOnly},
                                 OperationRule{"files", Place::kRunner, kFiles},
                                 OperationRule{"file_xor", Place::kRunner, kFileXor},
                                 OperationRule{"file_truncate", Place::kRunner, kFileTruncate},
                                 OperationRule{"file_write", Place::kRunner, kFileWrite},
                                 OperationRule{"file_append", Place::kRunner, kFileAppend},
                                 OperationRule{"file_remove", Place::kRunner, kFileRemove},
                                 OperationRule{"file_rename", Place::kRunner, kFileTo},
                                 OperationRule{"file_copy", Place::kRunner, kFileTo},
                                 OperationRule{"fault", Place::kRunner, kFault},
                                 OperationRule{"fault_clear", Place::kRunner, {}},
                                 OperationRule{"disk_capacity", Place::kRunner, kCapacity}};

}  // namespace

const OperationRule* find_operation(std::string_view name) {
  for (const OperationRule& rule : kOperations) {
    if (rule.name == name) return &rule;
  }
  return nullptr;
}

}  // namespace oncelog::tools::script
