# Installs shiro on Windows: downloads the archive, verifies its checksum, and only then puts the program in place.
#
#   irm https://github.com/shiro-neko/shiro/releases/latest/download/install.ps1 | iex
#   & ([scriptblock]::Create((irm https://github.com/shiro-neko/shiro/releases/latest/download/install.ps1))) -Uninstall
#
#   SHIRO_INSTALL_DIR        where to put it ($env:LOCALAPPDATA\Programs\shiro)
#   SHIRO_VERSION            a version instead of the latest
#   SHIRO_REPO               owner/name on GitHub
#   SHIRO_BASE_DOWNLOAD_URL  a mirror that holds the archive and checksums.txt; the two above then have no say
#
# Needs no administrator and changes no settings. Everything is in functions called on the last line, so that a download of
# this script that was cut short does nothing. Written for Windows PowerShell 5.1, which every Windows has.
param([switch]$Uninstall)

function Get-ShiroDirectory {
  if ($env:OS -ne 'Windows_NT') { throw 'install.ps1: this is for Windows. Elsewhere use install.sh' }
  if ($env:SHIRO_INSTALL_DIR) { return $env:SHIRO_INSTALL_DIR }
  return Join-Path $env:LOCALAPPDATA 'Programs\shiro'
}

function Get-ShiroBaseUrl {
  if ($env:SHIRO_BASE_DOWNLOAD_URL) { return $env:SHIRO_BASE_DOWNLOAD_URL.TrimEnd('/') }
  $repo = if ($env:SHIRO_REPO) { $env:SHIRO_REPO } else { 'shiro-neko/shiro' }
  if ($env:SHIRO_VERSION) { return "https://github.com/$repo/releases/download/v$($env:SHIRO_VERSION.TrimStart('v'))" }
  return "https://github.com/$repo/releases/latest/download"
}

function Save-ShiroFile([string]$Url, [string]$Path) {
  try { Invoke-WebRequest -UseBasicParsing -Uri $Url -OutFile $Path }
  catch { throw "install.ps1: download failed: $Url. $($_.Exception.Message)" }
}

function Assert-ShiroChecksum([string]$Folder, [string]$Name) {
  $line = Get-Content -LiteralPath (Join-Path $Folder 'checksums.txt') | Where-Object { $_ -match "\s\*?$([regex]::Escape($Name))$" } | Select-Object -First 1
  if (-not $line) { throw "install.ps1: checksums.txt has no entry for $Name" }
  $wanted = ($line -split '\s+')[0].ToLowerInvariant()
  $actual = (Get-FileHash -Algorithm SHA256 -LiteralPath (Join-Path $Folder $Name)).Hash.ToLowerInvariant()
  if ($actual -ne $wanted) { throw "install.ps1: checksum mismatch for ${Name}: wanted $wanted, got $actual. Nothing was installed" }
}

# Returns the version. Stderr isn't redirected: Windows PowerShell makes an error of its first line.
function Test-ShiroProgram([string]$Program) {
  try { $version = & $Program --version }
  catch { throw "install.ps1: the downloaded program does not run on this machine: $($_.Exception.Message). Nothing was installed" }
  if ($LASTEXITCODE -ne 0) { throw "install.ps1: the downloaded program does not run on this machine. Nothing was installed" }
  return $version
}

# A running program can't be replaced on Windows, but it can be moved aside, and back if its successor can't take its place.
function Move-ShiroIntoPlace([string]$Staged, [string]$Target) {
  $aside = "$Target.$([IO.Path]::GetRandomFileName()).old"
  if (Test-Path -LiteralPath $Target) { Move-Item -LiteralPath $Target -Destination $aside }
  try { Move-Item -LiteralPath $Staged -Destination $Target }
  catch {
    if (Test-Path -LiteralPath $aside) { Move-Item -LiteralPath $aside -Destination $Target }
    throw
  }
}

# One that still runs stays, until the next install.
function Remove-ShiroOld([string]$Directory) {
  Get-ChildItem -LiteralPath $Directory -Filter 'shiro.exe.*.old' | Remove-Item -Force -ErrorAction SilentlyContinue
}

function Install-Shiro {
  $ErrorActionPreference = 'Stop'
  # Drawing the progress bar takes Windows PowerShell longer than the download.
  $ProgressPreference = 'SilentlyContinue'
  # Older ones start with TLS 1.0, which GitHub refuses.
  [Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12
  if (-not [Environment]::Is64BitOperatingSystem) { throw 'install.ps1: no build for 32-bit Windows' }
  $directory = Get-ShiroDirectory
  $url = Get-ShiroBaseUrl
  $archive = 'shiro-windows-x64.zip'
  $work = Join-Path ([IO.Path]::GetTempPath()) ([IO.Path]::GetRandomFileName())
  $staged = Join-Path $directory "shiro.new.$PID.exe"
  New-Item -ItemType Directory -Path $work | Out-Null
  try {
    Write-Host "Downloading $archive from $url"
    Save-ShiroFile "$url/checksums.txt" (Join-Path $work 'checksums.txt')
    Save-ShiroFile "$url/$archive" (Join-Path $work $archive)
    Assert-ShiroChecksum $work $archive
    Expand-Archive -LiteralPath (Join-Path $work $archive) -DestinationPath $work
    try {
      New-Item -ItemType Directory -Force -Path $directory | Out-Null
      Copy-Item -LiteralPath (Join-Path $work 'shiro.exe') -Destination $staged
    } catch { throw "install.ps1: $directory can't be written. Set SHIRO_INSTALL_DIR. $($_.Exception.Message)" }
    $version = Test-ShiroProgram $staged
    Move-ShiroIntoPlace $staged (Join-Path $directory 'shiro.exe')
    Remove-ShiroOld $directory
  } finally {
    Remove-Item -Recurse -Force -ErrorAction SilentlyContinue -LiteralPath $work, $staged
  }
  Write-Host "Installed $version in $directory"
  if (($env:PATH -split ';').TrimEnd('\') -notcontains $directory.TrimEnd('\')) {
    Write-Host "$directory is not on your PATH. Add it, then open a new terminal:"
    Write-Host "  [Environment]::SetEnvironmentVariable('Path', '$directory;' + [Environment]::GetEnvironmentVariable('Path', 'User'), 'User')"
  }
  Write-Host 'Try: shiro demo'
}

function Uninstall-Shiro {
  $ErrorActionPreference = 'Stop'
  $directory = Get-ShiroDirectory
  $target = Join-Path $directory 'shiro.exe'
  if (-not (Test-Path -LiteralPath $target)) { throw "install.ps1: there is no $target" }
  Remove-Item -LiteralPath $target
  Remove-ShiroOld $directory
  $settings = if ($env:SHIRO_HOME) { $env:SHIRO_HOME } else { '~\.shiro-neko' }
  Write-Host "Removed $target. Settings and sessions stay in $settings."
}

if ($Uninstall) { Uninstall-Shiro } else { Install-Shiro }
