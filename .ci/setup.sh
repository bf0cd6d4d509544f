# Shared by ./run, ./test and .ci/run: Debian packages and the release build. Sourced, not run.

BUILD_PACKAGES=(cmake ninja-build g++ pkg-config ccache
  liburing-dev libxxhash-dev liblz4-dev libzstd-dev zlib1g-dev libsnappy-dev libisal-dev
  libfmt-dev libcli11-dev nlohmann-json3-dev)
TEST_PACKAGES=(libgtest-dev librapidcheck-dev)

# install_packages NAME...: asks apt for those that are not installed; says nothing when none is.
install_packages() {
  local -a missing=()
  local name
  if ! command -v dpkg-query >/dev/null; then
    echo "not a Debian system: taking for granted that these are installed: $*" >&2
    return 0
  fi
  local installed
  installed=$'\n'$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' 2>/dev/null | sed -n 's/^ii *//p')$'\n'
  for name in "$@"; do
    [[ $installed == *$'\n'"$name"$'\n'* ]] || missing+=("$name")
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0

  local -a apt=(env DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Use-Pty=0 -q)
  if [[ $EUID -ne 0 ]]; then
    command -v sudo >/dev/null || {
      echo "missing packages, and neither root nor sudo to install them: ${missing[*]}" >&2
      return 1
    }
    apt=(sudo "${apt[@]}")
  fi
  echo "installing with apt-get: ${missing[*]}"
  local log
  log=$(mktemp)
  # A stale package list is enough when the mirror cannot be reached but has the packages cached.
  "${apt[@]}" update </dev/null >"$log" 2>&1 || echo "apt-get update failed; trying with the present lists" >&2
  if ! "${apt[@]}" install -y --no-install-recommends "${missing[@]}" </dev/null >>"$log" 2>&1; then
    tail -n 30 "$log" >&2
    rm -f "$log"
    echo "apt-get could not install: ${missing[*]}" >&2
    return 1
  fi
  rm -f "$log"
}

# configure PRESET [CMAKE-ARGUMENT...]: configures build/PRESET unless it was done with the same
# arguments. Later changes of the CMake files are noticed by the build itself.
configure() {
  local preset=$1 build=build/$1 stamp=build/$1/.configured
  local wanted="$PWD $*"
  if [[ -f $build/build.ninja && -f $stamp && $(<"$stamp") == "$wanted" ]]; then return 0; fi
  local -a fresh=()
  # A build folder made elsewhere (a copied checkout) cannot be reused.
  if [[ -f $build/CMakeCache.txt ]] &&
    ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$build/CMakeCache.txt"; then
    fresh=(--fresh)
  fi
  mkdir -p "$build"
  echo "configuring $build"
  if ! cmake --preset "$preset" "${fresh[@]}" "${@:2}" >"$build/configure.log" 2>&1; then
    cat "$build/configure.log" >&2
    return 1
  fi
  printf '%s\n' "$wanted" >"$stamp"
}

# build PRESET [TARGET...]: builds; on a terminal with ninja's progress, else nearly silent.
build() {
  local build=build/$1
  local -a command=(cmake --build "$build" -j "$(nproc)")
  if [[ $# -gt 1 ]]; then command+=(--target "${@:2}"); fi
  if [[ -t 1 ]]; then
    "${command[@]}"
  else
    echo "building $build"
    "${command[@]}" -- --quiet | sed '/^ninja: no work to do\.$/d'
  fi
}
