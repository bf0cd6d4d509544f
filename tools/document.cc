// Streaming output in three forms.
#include "tools/document.h"

namespace oncelog::tools {
namespace {

std::string plain_value(const Json& value) {
  if (value.is_string()) return std::string(value.as_string());
  return value.is_null() ? "-" : to_text(value);
}

}  // namespace

std::string plain_text(const Json& object) {
  std::string out;
  for (const auto& [name, value] : object.members()) {
    if (!out.empty()) out += ' ';
    out += name + '=' + plain_value(value);
  }
  return out;
}

void DocumentWriter::write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), out_);
}

void DocumentWriter::end_list() {
  if (in_list_ && form_ == OutputForm::kJson) write("]");
  in_list_ = false;
}

void DocumentWriter::member(std::string_view name, const Json& value) {
  end_list();
  std::string text;
  if (form_ == OutputForm::kText) {
    summary_ += std::string(name) + ": " + plain_value(value) + '\n';
    return;
  }
  if (form_ == OutputForm::kJson) text += any_member_ ? "," : "{";
  if (form_ == OutputForm::kJsonLines) text += ',';
  append_quoted(name, text);
  text += ':';
  append_text(value, text);
  any_member_ = true;
  if (form_ == OutputForm::kJson) {
    write(text);
  } else {
    summary_ += text;
  }
}

void DocumentWriter::begin_list(std::string_view name, std::string_view kind) {
  end_list();
  in_list_ = true;
  any_item_ = false;
  kind_ = kind;
  if (form_ != OutputForm::kJson) return;
  std::string text = any_member_ ? "," : "{";
  any_member_ = true;
  append_quoted(name, text);
  write(text + ":[");
}

void DocumentWriter::item(const Json& value) {
  std::string text;
  switch (form_) {
    case OutputForm::kText:
      text = kind_ + ' ' + plain_text(value) + '\n';
      break;
    case OutputForm::kJson:
      if (any_item_) text = ",";
      append_text(value, text);
      break;
    case OutputForm::kJsonLines: {
      Json line = Json::object({{"kind", kind_}});
      for (const auto& [name, member] : value.members())
        line.set(name, member);
      text = to_text(line) + '\n';
      break;
    }
  }
  any_item_ = true;
  write(text);
}

void DocumentWriter::finish() {
  end_list();
  switch (form_) {
    case OutputForm::kText:
      write(summary_);
      break;
    case OutputForm::kJson:
      write(any_member_ ? "}\n" : "{}\n");
      break;
    case OutputForm::kJsonLines:
      write("{\"kind\":\"summary\"" + summary_ + "}\n");
      break;
  }
}

}  // namespace oncelog::tools
