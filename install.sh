#!/bin/sh
# Installs shiro: downloads the archive for this machine, verifies its checksum, and only then puts the program in place.
#
#   curl -fsSL https://github.com/shiro-neko/shiro/releases/latest/download/install.sh | sh
#   curl -fsSL https://github.com/shiro-neko/shiro/releases/latest/download/install.sh | sh -s -- --uninstall
#
#   SHIRO_INSTALL_DIR        where to put it (~/.local/bin, /usr/local/bin for root)
#   SHIRO_VERSION            a version instead of the latest
#   SHIRO_REPO               owner/name on GitHub
#   SHIRO_BASE_DOWNLOAD_URL  a mirror that holds the archives and checksums.txt; the two above then have no say
#
# Never uses sudo and edits no shell files. Everything is in functions called on the last line, so that a download of this
# script that was cut short does nothing.
set -eu

say() { printf '%s\n' "$*"; }

fail() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

install_dir() {
  if [ -n "${SHIRO_INSTALL_DIR:-}" ]; then
    printf '%s' "$SHIRO_INSTALL_DIR"
  elif [ "$(id -u)" = 0 ]; then
    printf '/usr/local/bin'
  else
    [ -n "${HOME:-}" ] || fail "HOME is not set. Set SHIRO_INSTALL_DIR"
    printf '%s/.local/bin' "$HOME"
  fi
}

# ldd belongs to the system's own C library. A loader alone tells less: Debian has a musl package, Alpine one for glibc.
is_musl() {
  case "$(ldd --version 2>&1 || true)" in
    *musl*) return 0 ;;
    *GLIBC* | *"GNU libc"*) return 1 ;;
  esac
  for loader in /lib/ld-musl-*; do
    [ -e "$loader" ] && return 0
  done
  return 1
}

has_avx2() { grep -qw avx2 /proc/cpuinfo 2>/dev/null; }

has_libstdcxx() {
  for library in /usr/lib/libstdc++.so.6* /lib/libstdc++.so.6*; do
    [ -e "$library" ] && return 0
  done
  return 1
}

# A shell that runs translated on Apple silicon is told of an Intel processor.
is_translated() { [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || true)" = 1 ]; }

# Prints the name of the build for this machine.
target() {
  system=$(uname -s)
  processor=$(uname -m)
  case "$processor" in
    x86_64 | amd64) arch=x64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "no build for the processor $processor" ;;
  esac
  case "$system" in
    Linux) linux_target "$arch" ;;
    Darwin)
      if is_translated; then arch=arm64; fi
      printf 'darwin-%s' "$arch"
      ;;
    *) fail "$system is not supported here. On Windows use install.ps1" ;;
  esac
}

linux_target() {
  if is_musl; then
    [ "$1" = arm64 ] || has_avx2 || fail "no build for musl on a processor without AVX2"
    has_libstdcxx || fail "libstdc++ is missing. Run: apk add libstdc++"
    printf 'linux-%s-musl' "$1"
  elif [ "$1" = x64 ] && ! has_avx2; then
    printf 'linux-x64-baseline'
  else
    printf 'linux-%s' "$1"
  fi
}

base_url() {
  if [ -n "${SHIRO_BASE_DOWNLOAD_URL:-}" ]; then
    printf '%s' "${SHIRO_BASE_DOWNLOAD_URL%/}"
    return
  fi
  releases="https://github.com/${SHIRO_REPO:-shiro-neko/shiro}/releases"
  if [ -n "${SHIRO_VERSION:-}" ]; then
    printf '%s/download/v%s' "$releases" "${SHIRO_VERSION#v}"
  else
    printf '%s/latest/download' "$releases"
  fi
}

# download URL FILE
download() {
  if has curl; then
    # What starts with https isn't redirected to less.
    case "$1" in https:*) set -- "$1" "$2" --proto '=https' ;; esac
    from=$1 to=$2
    shift 2
    curl -fsSL --retry 2 --connect-timeout 60 "$@" -o "$to" "$from" || fail "download failed: $from"
  elif has wget; then
    # By itself it would try a server that hangs up twenty times, for minutes.
    wget -q -t 3 -O "$2" "$1" || fail "download failed: $1"
  else
    fail "neither curl nor wget is installed"
  fi
}

sha256_of() {
  if has sha256sum; then
    sha256sum "$1" | cut -d ' ' -f 1
  elif has shasum; then
    shasum -a 256 "$1" | cut -d ' ' -f 1
  elif has openssl; then
    openssl dgst -sha256 "$1" | sed 's/^.* //'
  else
    fail "no program to verify the checksum with (sha256sum, shasum or openssl)"
  fi
}

verify() {
  wanted=$(while read -r sum name; do
    case "$name" in "$2" | "*$2") printf '%s' "$sum" ;; esac
  done <"$work/checksums.txt")
  [ -n "$wanted" ] || fail "checksums.txt has no entry for $2"
  actual=$(sha256_of "$1")
  [ "$actual" = "$wanted" ] || fail "checksum mismatch for $2: wanted $wanted, got $actual. Nothing was installed"
}

on_path() {
  case ":${PATH:-}:" in
    *":$1:"*) return 0 ;;
    *) return 1 ;;
  esac
}

advise_path() {
  if on_path "$1"; then
    first=$(command -v shiro || true)
    [ "$first" = "$1/shiro" ] || say "Another shiro comes first on your PATH: $first"
    return 0
  fi
  case "${SHELL:-}" in
    */fish) say "$1 is not on your PATH. Run:  fish_add_path \"$1\"" ;;
    *) say "$1 is not on your PATH. Add to your shell's start-up file:  export PATH=\"$1:\$PATH\"" ;;
  esac
}

# Unpacks next to its place and renames over it: a shiro that runs keeps its file, and nobody ever sees half of one.
put_in_place() {
  mkdir -p "$2" 2>/dev/null || fail "$2 could not be made. Set SHIRO_INSTALL_DIR"
  [ ! -d "$2/shiro" ] || fail "$2/shiro is a directory. Set SHIRO_INSTALL_DIR"
  staged=$(mktemp "$2/.shiro.new.XXXXXX" 2>/dev/null) || fail "$2 can't be written. Set SHIRO_INSTALL_DIR"
  cp "$1" "$staged" || fail "$2 can't be written. Set SHIRO_INSTALL_DIR"
  chmod 755 "$staged"
  version=$("$staged" --version </dev/null 2>"$work/errors") || {
    reason=$(head -n 1 "$work/errors")
    fail "the downloaded program does not run on this machine${reason:+: $reason}. Nothing was installed"
  }
  mv -f "$staged" "$2/shiro" || fail "$2/shiro could not be replaced"
  staged=""
}

install_shiro() {
  directory=$(install_dir)
  name=$(target)
  archive="shiro-$name.tar.gz"
  url=$(base_url)
  has tar || fail "tar is not installed"
  work=$(mktemp -d)
  staged=""
  trap 'rm -rf "$work" ${staged:+"$staged"}' EXIT
  trap 'exit 130' INT TERM HUP

  say "Downloading $archive from $url"
  download "$url/checksums.txt" "$work/checksums.txt"
  download "$url/$archive" "$work/$archive"
  verify "$work/$archive" "$archive"
  tar -xzf "$work/$archive" -C "$work" shiro || fail "$archive could not be unpacked"
  put_in_place "$work/shiro" "$directory"
  say "Installed $version in $directory"
  advise_path "$directory"
  if on_path "$directory"; then say "Try: shiro demo"; else say "Try: $directory/shiro demo"; fi
}

uninstall_shiro() {
  file="$(install_dir)/shiro"
  [ -e "$file" ] || [ -L "$file" ] || fail "there is no $file"
  rm -f "$file" || fail "$file could not be removed"
  say "Removed $file. Settings and sessions stay in ${SHIRO_HOME:-~/.shiro-neko}."
}

main() {
  case "${1:-}" in
    "") install_shiro ;;
    --uninstall) uninstall_shiro ;;
    *) fail "unknown option $1 (only --uninstall)" ;;
  esac
}

# In braces, since a shell runs nothing of an unfinished pair: no first part of this line does anything.
{ main "$@"; }
