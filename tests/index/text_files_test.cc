// Checkpoints, partition.metadata, meta.properties and the clean marker.
#include "index/text_files.h"

#include <gtest/gtest.h>

#include "tests/index/bytes.h"

namespace oncelog {
namespace {

void expect_damaged_line(std::string_view text, int line) {
  const auto result = decode_offset_checkpoint(text);
  ASSERT_FALSE(result.ok()) << text;
  EXPECT_EQ(result.error().code, ErrorCode::kDamaged);
  const std::string prefix = "line " + std::to_string(line) + ":";
  EXPECT_EQ(result.error().message.substr(0, prefix.size()), prefix) << result.error().message;
}

TEST(OffsetCheckpoint, RoundTripsManyPartitions) {
  const OffsetCheckpoint offsets{{{"a", 0}, 5}, {{"a.b-c", 12}, 0}, {{"z", 1}, 1LL << 40}};

  const std::string text = encode_offset_checkpoint(offsets);

  EXPECT_EQ(text, "0\n3\na 0 5\na.b-c 12 0\nz 1 1099511627776\n");
  EXPECT_EQ(*decode_offset_checkpoint(text), offsets);
}

TEST(OffsetCheckpoint, IsEmptyForAnEmptyTextAndAnEmptyMap) {
  EXPECT_EQ(encode_offset_checkpoint({}), "0\n0\n");
  EXPECT_TRUE(decode_offset_checkpoint("0\n0\n")->empty());
  EXPECT_TRUE(decode_offset_checkpoint("")->empty());
}

TEST(OffsetCheckpoint, AcceptsAnyBlanksBetweenFields) {
  const auto offsets = decode_offset_checkpoint("0\r\n1\r\n t\t0   7 \r\n");

  ASSERT_TRUE(offsets.ok()) << to_string(offsets.error());
  EXPECT_EQ(offsets->at({"t", 0}), 7);
}

// H-073
TEST(OffsetCheckpoint, NamesTheLineOfEveryKindOfDamage) {
  expect_damaged_line("1\n0\n", 1);
  expect_damaged_line("x\n0\n", 1);
  expect_damaged_line("\n", 1);
  expect_damaged_line("0 0\n0\n", 1);
  expect_damaged_line("0\n", 2);
  expect_damaged_line("0\n-1\n", 2);
  expect_damaged_line("0\nmany\n", 2);
  expect_damaged_line("0\n1\n", 3);
  expect_damaged_line("0\n2\nt 0 5\n", 4);
  expect_damaged_line("0\n1\nt 0 5\nt 1 5\n", 4);
  expect_damaged_line("0\n1\nt 0\n", 3);
  expect_damaged_line("0\n1\nt 0 5 6\n", 3);
  expect_damaged_line("0\n1\nt x 5\n", 3);
  expect_damaged_line("0\n1\nt -1 5\n", 3);
  expect_damaged_line("0\n1\nt 0 -5\n", 3);
  expect_damaged_line("0\n1\nt 0 99999999999999999999\n", 3);
  expect_damaged_line("0\n2\nt 0 5\nt 0 6\n", 4);
  expect_damaged_line("0\n1\n\n", 3);
}

// H-073: a number that lost its last digits is still a number.
TEST(OffsetCheckpoint, RefusesALastLineWithoutNewline) {
  expect_damaged_line("0\n1\nt 0 12", 3);
}

TEST(OffsetCheckpoint, RefusesEveryCutOfAFile) {
  const std::string text = encode_offset_checkpoint({{{"a", 0}, 512}, {{"b", 1}, 77}});

  for (std::size_t size = 1; size < text.size(); ++size) {
    EXPECT_FALSE(decode_offset_checkpoint(text.substr(0, size)).ok()) << size;
  }
}

TEST(OffsetCheckpoint, NeverReservesByTheClaimedCount) {
  expect_damaged_line("0\n4294967295\nt 0 5\n", 4);
}

TEST(OffsetCheckpoint, ReadsWhatABrokerWrote) {
  const auto files = golden_files("-offset-checkpoint");
  if (files.empty()) GTEST_SKIP() << "no golden data in " << golden_cases();
  for (const auto& file : files) {
    const std::string text = read_text(file);

    const auto offsets = decode_offset_checkpoint(text);

    ASSERT_TRUE(offsets.ok()) << file << ": " << to_string(offsets.error());
    if (offsets->size() == 1) {
      EXPECT_EQ(encode_offset_checkpoint(*offsets), text) << file;
    }
  }
}

TEST(Uuid, PrintsAsUrlSafeBase64WithoutPadding) {
  Uuid id;
  for (std::size_t i = 0; i < 16; ++i)
    id.bytes.at(i) = static_cast<std::uint8_t>(0xfb + i);

  const std::string text = to_string(id);

  EXPECT_EQ(text, "-_z9_v8AAQIDBAUGBwgJCg");
  EXPECT_EQ(*parse_uuid(text), id);
  EXPECT_EQ(to_string(Uuid{}), "AAAAAAAAAAAAAAAAAAAAAA");
  EXPECT_TRUE(Uuid{}.is_zero());
  EXPECT_FALSE(id.is_zero());
}

TEST(Uuid, RefusesWrongLengthAlphabetAndTrailingBits) {
  for (const char* text : {"", "AAAA", "AAAAAAAAAAAAAAAAAAAAA+", "AAAAAAAAAAAAAAAAAAAAAB",
                           "AAAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAA="}) {
    EXPECT_FALSE(parse_uuid(text).ok()) << text;
  }
}

TEST(PartitionMetadata, HasNoFinalNewlineAndRoundTrips) {
  const Uuid id = *parse_uuid("-_z9_v8AAQIDBAUGBwgJCg");

  const std::string text = encode_partition_metadata(id);

  EXPECT_EQ(text, "version: 0\ntopic_id: -_z9_v8AAQIDBAUGBwgJCg");
  EXPECT_EQ(*decode_partition_metadata(text), id);
  EXPECT_EQ(*decode_partition_metadata("version: 3\ntopic_id:  -_z9_v8AAQIDBAUGBwgJCg\n"), id);
}

TEST(PartitionMetadata, RefusesAnythingElse) {
  for (const char* text :
       {"", "version: 0", "version: 0\n", "version: -1\ntopic_id: -_z9_v8AAQIDBAUGBwgJCg",
        "version:0\ntopic_id: -_z9_v8AAQIDBAUGBwgJCg", "topic_id: -_z9_v8AAQIDBAUGBwgJCg",
        "version: 0\ntopic_id: -_z9_v8AAQIDBAUGBwgJC", "version: 0\ntopic_id: ",
        "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", "version: x\ntopic_id: AAAA"}) {
    const auto id = decode_partition_metadata(text);
    ASSERT_FALSE(id.ok()) << text;
    EXPECT_EQ(id.error().code, ErrorCode::kDamaged);
  }
}

TEST(PartitionMetadata, EqualsWhatABrokerWrote) {
  const auto files = golden_files("partition.metadata");
  if (files.empty()) GTEST_SKIP() << "no golden data in " << golden_cases();
  for (const auto& file : files) {
    const std::string text = read_text(file);
    const auto id = decode_partition_metadata(text);
    ASSERT_TRUE(id.ok()) << file << ": " << to_string(id.error());
    EXPECT_EQ(encode_partition_metadata(*id), text);
  }
}

TEST(MetaProperties, ReadsAFileOfABroker) {
  const auto properties = decode_meta_properties(
      "#\n#Fri Oct 11 10:15:30 UTC 2024\nnode.id=1\ndirectory.id=eZgpMqDjSHGvIXOmT7wP-g\n"
      "version=1\ncluster.id=4L6g3nShT-eMCtK--X86sw\n");

  ASSERT_TRUE(properties.ok()) << to_string(properties.error());
  EXPECT_EQ(properties->version, 1);
  EXPECT_EQ(properties->node_id, 1);
  EXPECT_EQ(properties->cluster_id, "4L6g3nShT-eMCtK--X86sw");
  EXPECT_EQ(properties->directory_id, "eZgpMqDjSHGvIXOmT7wP-g");
}

TEST(MetaProperties, ReadsVersion0WithAndWithoutBrokerId) {
  EXPECT_EQ(decode_meta_properties("version=0\nbroker.id=7\n")->node_id, 7);
  EXPECT_FALSE(decode_meta_properties("version=0\n")->node_id.has_value());
  EXPECT_EQ(decode_meta_properties("broker.id=7\n")->version, 0);
}

TEST(MetaProperties, FollowsTheGrammarOfJavaProperties) {
  const auto properties = decode_meta_properties(
      "! a comment \\\r\n  version : 1\r\nnode.id 5\n\ncluster.id = a\\:\\=\\u0062\\\n   c\\t ");

  ASSERT_TRUE(properties.ok()) << to_string(properties.error());
  EXPECT_EQ(properties->version, 1);
  EXPECT_EQ(properties->node_id, 5);
  EXPECT_EQ(properties->cluster_id, "a:=bc\t ");
}

TEST(MetaProperties, RoundTripsValuesThatNeedEscapes) {
  MetaProperties in;
  in.cluster_id = " a=b:c#d!\\e\n\tf ";
  in.node_id = 2147483647;
  in.directory_id = "x";

  const auto out = decode_meta_properties(encode_meta_properties(in));

  ASSERT_TRUE(out.ok()) << to_string(out.error());
  EXPECT_EQ(out->cluster_id, in.cluster_id);
  EXPECT_EQ(out->node_id, in.node_id);
  EXPECT_EQ(out->directory_id, in.directory_id);
}

TEST(MetaProperties, RefusesWrongVersionsAndMissingKeys) {
  for (const char* text :
       {"version=2\n", "version=x\n", "version=1\nnode.id=1\n", "version=1\ncluster.id=a\n",
        "version=1\ncluster.id=a\nnode.id=one\n", "version=1\ncluster.id=\\u00zz\nnode.id=1\n"}) {
    const auto properties = decode_meta_properties(text);
    ASSERT_FALSE(properties.ok()) << text;
    EXPECT_EQ(properties.error().code, ErrorCode::kDamaged);
  }
}

TEST(CleanShutdown, IsOneLineOfJson) {
  EXPECT_EQ(encode_clean_shutdown(-1), "{\"version\":0,\"brokerEpoch\":-1}");
}

TEST(TextDecoders, SurviveRandomText) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "ONCELOG_SEED=" << seed);
  std::mt19937_64 random(seed);
  const std::string alphabet = "0123-\n\r \t\\u=:#!atversion.idtopic_";
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (std::uint64_t n = random() % 60; n > 0; --n)
      text += alphabet[random() % alphabet.size()];
    if (round % 3 == 0) text = "0\n1\n" + text;

    static_cast<void>(decode_offset_checkpoint(text));
    static_cast<void>(decode_partition_metadata(text));
    static_cast<void>(decode_meta_properties(text));
    static_cast<void>(parse_uuid(text));
  }
}

}  // namespace
}  // namespace oncelog
