// Lists and classifies a partition directory through the seam. Internal to recovery.
#pragma once

#include <string>
#include <vector>

#include "oncelog/file_system.h"
#include "oncelog/result.h"

#include "recovery/behind.h"
#include "recovery/classify.h"
#include "recovery/plan.h"

namespace oncelog {

/// `classify` on what is there; replacements are scanned with their CRCs.
Result<DirectoryPlan> classify_directory(FileSystem& files, const std::string& directory);

std::vector<OpenSegment> opened_segments(const RecoveryPlan& plan);

}  // namespace oncelog
