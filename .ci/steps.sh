# The steps of .ci/run, one function each, in the order in which they run. Sourced, not run.
#
# With `set -e` a function stops at its first failing command; keep it that way: call no step inside
# a condition.

CHECK_PACKAGES=(clang clang-tidy clang-format libclang-rt-14-dev)

# The release build and its tests, as a user runs them.
step_main() {
  ./test
  cp build/release/ctest.txt build/release/ctest-main.txt
}

# git, in a clone that may belong to another user.
project_git() {
  git -c safe.directory='*' "$@"
}

# What the steps below need beyond ./test.
step_tools() {
  install_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}" "${CHECK_PACKAGES[@]}"
}

step_format() {
  local -a files=()
  mapfile -t files < <(project_git ls-files -- '*.h' '*.cc')
  clang-format --dry-run --Werror "${files[@]}"
  echo "${#files[@]} files are formatted"
}

step_clang() {
  configure clang
  build clang
  # Each public header must compile alone.
  build clang all_verify_interface_header_sets
}

# The commit that a change is measured against: where it left origin/main. Nothing when there is no
# such branch, or when HEAD is it.
change_base() {
  local base
  base=$(project_git merge-base origin/main HEAD 2>/dev/null) || return 0
  if [[ $base != $(project_git rev-parse HEAD) ]]; then echo "$base"; fi
}

# The sources to check: those of the change and those that include a header of it; without a base
# all, last changed first, so that a budget that runs out leaves the oldest unchecked.
tidy_sources() {
  local base header
  base=$(change_base)
  if [[ -z $base ]]; then
    # The library and the program come before what checks them.
    project_git log --format= --name-only -- '*.cc' |
      awk '!seen[$0]++ { if (/^tests\//) late[++n] = $0; else print }
           END { for (i = 1; i <= n; ++i) print late[i] }'
    return
  fi
  {
    project_git diff --name-only "$base" -- '*.cc'
    project_git diff --name-only "$base" -- '*.h' | sed 's|.*/include/||' | while read -r header; do
      project_git grep -lF "#include \"$header\"" -- '*.cc' || true
    done
  } | awk '!seen[$0]++'
}

step_tidy() {
  configure clang
  # Only what the clang build compiles: clang-tidy takes the flags from there.
  local -a files=()
  mapfile -t files < <(tidy_sources | while read -r file; do
    if grep -qF "\"$PWD/$file\"" build/clang/compile_commands.json; then echo "$file"; fi
  done)
  # Without a base this is the whole tree, last changed first: a sample of it here, all of it with a
  # budget that allows it.
  local budget=480
  [[ -n $(change_base) ]] || budget=150
  local deadline=$((SECONDS + ${ONCELOG_TIDY_BUDGET_S:-$budget})) checked=0
  while [[ $checked -lt ${#files[@]} && $SECONDS -lt $deadline ]]; do
    local -a batch=("${files[@]:checked:8}")
    # stderr only counts the warnings that were suppressed.
    printf '%s\n' "${batch[@]}" |
      xargs -P "$(nproc)" -n 1 clang-tidy --quiet -p build/clang 2>>build/tidy.stderr
    checked=$((checked + ${#batch[@]}))
  done
  echo "clang-tidy: $checked of ${#files[@]} files"
}

step_asan() {
  configure asan
  build asan
  ctest --preset asan --no-label-summary --progress -j "$(nproc)" | tail -n 40
}

step_tsan() {
  configure tsan
  build tsan
  ctest --preset tsan --no-label-summary --progress -j "$(nproc)" | tail -n 40
}

# The same program where io_uring is refused, as in most containers.
step_posix() {
  configure release -DONCELOG_BUILD_TESTS=ON
  build release
  ONCELOG_IO=posix ctest --preset release --no-label-summary --progress -j "$(nproc)" \
    -L '^(io|txn|store|log|tools)$' | tail -n 40
}

step_fuzz() {
  local default_s=10
  if [[ ${CI:-} == true ]]; then default_s=60; fi
  local seconds=${ONCELOG_FUZZ_S:-$default_s} target name
  configure fuzz
  build fuzz
  local -a targets=(build/fuzz/bin/fuzz_*)
  [[ -x ${targets[0]} ]] || { echo "no fuzz targets were built" >&2; return 1; }
  for target in "${targets[@]}"; do
    name=$(basename "$target")
    # What the run finds goes to a scratch corpus; the seeds in the tree are read only.
    local -a corpus=("build/fuzz/corpus/$name")
    mkdir -p "${corpus[0]}"
    if [[ -d fuzz/corpus/$name ]]; then corpus+=("fuzz/corpus/$name"); fi
    echo "$name for $seconds s"
    "$target" -max_total_time="$seconds" -rss_limit_mb=4096 -timeout=20 -print_final_stats=1 \
      -artifact_prefix="build/fuzz/$name-" "${corpus[@]}" >"build/fuzz/$name.log" 2>&1 || {
      tail -n 60 "build/fuzz/$name.log"
      return 1
    }
    grep -E 'number_of_executed_units|average_exec_per_sec' "build/fuzz/$name.log"
  done
}

# Installs into a scratch prefix and builds a program against it as an outsider would.
step_consumer() {
  configure release -DONCELOG_BUILD_TESTS=ON
  build release
  tests/consumer/check.sh build/release
}
