#!/bin/sh
# Installs shiro: downloads the archive for this machine, verifies its checksum, and only then puts the program in place.
#
#   curl -fsSL https://github.com/shiro-neko/shiro/releases/latest/download/install.sh | sh
#   sh install.sh --uninstall
#
#   SHIRO_INSTALL_DIR        where to put it (~/.local/bin, /usr/local/bin for root)
#   SHIRO_VERSION            a version instead of the latest
#   SHIRO_REPO               owner/name on GitHub
#   SHIRO_BASE_DOWNLOAD_URL  a mirror that holds the archives and checksums.txt
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

is_musl() {
  for loader in /lib/ld-musl-*; do
    [ -e "$loader" ] && return 0
  done
  { ldd --version 2>&1 || true; } | grep -qi musl
}

has_avx2() {
  case "$1" in
    linux) grep -qw avx2 /proc/cpuinfo 2>/dev/null ;;
    *) return 0 ;;
  esac
}

# Prints the name of the build for this machine.
target() {
  case "$(uname -s)" in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    *) fail "$(uname -s) is not supported here. On Windows use install.ps1" ;;
  esac
  case "$(uname -m)" in
    x86_64 | amd64) arch=x64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "no build for the processor $(uname -m)" ;;
  esac
  suffix=""
  if [ "$os" = linux ] && is_musl; then
    suffix=-musl
    [ "$arch" = arm64 ] || has_avx2 "$os" || fail "no build for musl on a processor without AVX2"
    for library in /usr/lib/libstdc++.so.6* /lib/libstdc++.so.6*; do
      [ -e "$library" ] && break
    done
    [ -e "$library" ] || fail "libstdc++ is missing. Run: apk add libstdc++"
  elif [ "$arch" = x64 ] && ! has_avx2 "$os"; then
    suffix=-baseline
  fi
  printf '%s-%s%s' "$os" "$arch" "$suffix"
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
    curl -fsSL --retry 2 -o "$2" "$1" || fail "download failed: $1"
  elif has wget; then
    wget -q -O "$2" "$1" || fail "download failed: $1"
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
  wanted=$(awk -v name="$2" '$2 == name || $2 == "*" name { print $1 }' "$work/checksums.txt")
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

install_shiro() {
  directory=$(install_dir)
  name=$(target)
  archive="shiro-$name.tar.gz"
  work=$(mktemp -d)
  staged=""
  trap 'rm -rf "$work" ${staged:+"$staged"}' EXIT
  trap 'exit 130' INT TERM HUP

  say "Downloading $archive"
  download "$(base_url)/checksums.txt" "$work/checksums.txt"
  download "$(base_url)/$archive" "$work/$archive"
  verify "$work/$archive" "$archive"
  tar -xzf "$work/$archive" -C "$work" shiro || fail "$archive could not be unpacked"

  mkdir -p "$directory" 2>/dev/null || fail "$directory could not be made. Set SHIRO_INSTALL_DIR"
  # Next to its place and renamed over it: a shiro that runs keeps its file, and nobody ever sees half of one.
  staged="$directory/.shiro.new.$$"
  cp "$work/shiro" "$staged" 2>/dev/null || fail "$directory can't be written. Set SHIRO_INSTALL_DIR"
  chmod 755 "$staged"
  "$staged" --version >/dev/null 2>&1 || fail "the downloaded program does not run on this machine. Nothing was installed"
  mv -f "$staged" "$directory/shiro"
  staged=""

  say "Installed $("$directory/shiro" --version) in $directory"
  on_path "$directory" || say "$directory is not on your PATH. Add to your shell's start-up file:  export PATH=\"$directory:\$PATH\""
  say "Try: shiro demo"
}

uninstall_shiro() {
  file="$(install_dir)/shiro"
  [ -e "$file" ] || fail "there is no $file"
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

main "$@"
