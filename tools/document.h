// Prints a report that may be larger than memory: as one JSON document, as JSON lines, or as text.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "tools/json.h"

namespace oncelog::tools {

enum class OutputForm { kText, kJson, kJsonLines };

/// Items go out as they come; nothing is kept. In JSON lines an item is
/// {"kind": <list>, ...item}, and the members come in the last line, whose kind is "summary".
class DocumentWriter {
 public:
  DocumentWriter(OutputForm form, std::FILE* out) : form_(form), out_(out) {}
  DocumentWriter(const DocumentWriter&) = delete;
  DocumentWriter& operator=(const DocumentWriter&) = delete;
  ~DocumentWriter() = default;

  OutputForm form() const { return form_; }
  /// A single value.
  void member(std::string_view name, const Json& value);
  /// A list; its items follow until the next `member`, `begin_list` or `finish`. `kind` names an
  /// item in JSON lines and in text.
  void begin_list(std::string_view name, std::string_view kind);
  void item(const Json& value);
  void finish();

 private:
  void end_list();
  void write(const std::string& text);

  OutputForm form_;
  std::FILE* out_;
  bool in_list_ = false;
  bool any_item_ = false;
  bool any_member_ = false;
  std::string kind_;
  std::string summary_;  ///< kJsonLines, kText: the members, printed at the end
};

/// "key=value key=value ..." of an object's members, for people.
std::string plain_text(const Json& object);

}  // namespace oncelog::tools
