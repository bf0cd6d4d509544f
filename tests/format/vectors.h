// The worked examples of FORMAT.md 16.
#pragma once

#include <string_view>

namespace oncelog::test {

inline constexpr std::string_view kVectorA =
    "00 00 00 00 00 00 00 2a 00 00 00 43 00 00 00 07"
    "02 be a7 00 48 00 00 00 00 00 00 00 00 01 8b cf"
    "e5 68 00 00 00 01 8b cf e5 68 00 ff ff ff ff ff"
    "ff ff ff ff ff ff ff ff ff 00 00 00 01 22 00 00"
    "00 04 6b 31 0a 68 65 6c 6c 6f 02 02 68 02 78";
inline constexpr std::string_view kVectorB =
    "00 00 00 00 00 00 00 64 00 00 00 41 00 00 00 07"
    "02 ad 6d e9 d7 00 10 00 00 00 01 00 00 01 8b cf"
    "e5 68 00 00 00 01 8b cf e5 68 05 00 00 00 00 00"
    "00 0f a0 00 03 00 00 00 0a 00 00 00 02 10 00 00"
    "00 02 61 02 31 00 0c 00 0a 02 01 01 00";
inline constexpr std::string_view kVectorC =
    "00 00 00 00 00 00 00 66 00 00 00 42 00 00 00 07"
    "02 88 14 96 e7 00 30 00 00 00 00 00 00 01 8b cf"
    "e5 68 64 00 00 01 8b cf e5 68 64 00 00 00 00 00"
    "00 0f a0 00 03 ff ff ff ff 00 00 00 01 20 00 00"
    "00 08 00 00 00 01 0c 00 00 00 00 00 09 00";
inline constexpr std::string_view kVectorE =
    "00 00 00 00 00 00 00 64 00 00 00 31 00 00 00 07"
    "02 0b 41 52 70 00 10 00 00 00 01 ff ff ff ff ff"
    "ff ff ff 00 00 01 8b cf e5 68 05 00 00 00 00 00"
    "00 0f a0 00 03 00 00 00 0a 00 00 00 00";
inline constexpr std::string_view kVectorGLz4Payload =
    "04 22 4d 18 60 40 82 12 00 00 80 22 00 00 00 04 6b 31 0a 68 65 6c 6c 6f 02 02 68 02 78"
    "00 00 00 00";
inline constexpr std::string_view kVectorGSnappyPayload =
    "82 53 4e 41 50 50 59 00 00 00 00 01 00 00 00 01 00 00 00 14 12 44 22 00 00 00 04 6b 31 0a"
    "68 65 6c 6c 6f 02 02 68 02 78";
inline constexpr std::string_view kVectorI =
    "00 00 00 00 00 00 00 64 00 00 00 3c 00 00 00 07"
    "02 f7 60 74 b6 00 40 00 00 00 01 00 00 01 8b d5"
    "0b c4 00 00 00 01 8b cf e5 68 00 ff ff ff ff ff"
    "ff ff ff ff ff ff ff ff ff 00 00 00 01 14 00 ff"
    "ef b2 52 02 02 61 01 00";

}  // namespace oncelog::test
