// Base64 with padding (RFC 4648, section 4): how tools show and take bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace oncelog::tools {

std::string encode_base64(std::span<const std::byte> bytes);
/// Nothing when a character, the length or the padding is wrong.
std::optional<std::vector<std::byte>> decode_base64(std::string_view text);

}  // namespace oncelog::tools
