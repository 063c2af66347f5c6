# Installs shiro on Windows: downloads the archive, verifies its checksum, and only then puts the program in place.
#
#   irm https://github.com/shiro-neko/shiro/releases/latest/download/install.ps1 | iex
#
# SHIRO_INSTALL_DIR, SHIRO_VERSION, SHIRO_REPO and SHIRO_BASE_DOWNLOAD_URL mean what they mean in install.sh.
# Everything is in a function called on the last line, so that a download that was cut short does nothing.
function Install-Shiro {
  $ErrorActionPreference = 'Stop'
  if (-not [Environment]::Is64BitOperatingSystem) { throw 'install.ps1: no build for 32-bit Windows' }
  $directory = if ($env:SHIRO_INSTALL_DIR) { $env:SHIRO_INSTALL_DIR } else { Join-Path $env:LOCALAPPDATA 'Programs\shiro' }
  $repo = if ($env:SHIRO_REPO) { $env:SHIRO_REPO } else { 'shiro-neko/shiro' }
  $base = if ($env:SHIRO_BASE_DOWNLOAD_URL) { $env:SHIRO_BASE_DOWNLOAD_URL.TrimEnd('/') }
    elseif ($env:SHIRO_VERSION) { "https://github.com/$repo/releases/download/v$($env:SHIRO_VERSION.TrimStart('v'))" }
    else { "https://github.com/$repo/releases/latest/download" }
  $archive = 'shiro-windows-x64.zip'
  $work = Join-Path ([IO.Path]::GetTempPath()) ([IO.Path]::GetRandomFileName())
  New-Item -ItemType Directory -Path $work | Out-Null
  try {
    Write-Host "Downloading $archive"
    Invoke-WebRequest -UseBasicParsing "$base/checksums.txt" -OutFile (Join-Path $work 'checksums.txt')
    Invoke-WebRequest -UseBasicParsing "$base/$archive" -OutFile (Join-Path $work $archive)
    $line = Get-Content (Join-Path $work 'checksums.txt') | Where-Object { $_ -match "\s\*?$([regex]::Escape($archive))$" } | Select-Object -First 1
    if (-not $line) { throw "install.ps1: checksums.txt has no entry for $archive" }
    $wanted = ($line -split '\s+')[0].ToLowerInvariant()
    $actual = (Get-FileHash -Algorithm SHA256 (Join-Path $work $archive)).Hash.ToLowerInvariant()
    if ($actual -ne $wanted) { throw "install.ps1: checksum mismatch for ${archive}: wanted $wanted, got $actual. Nothing was installed" }
    Expand-Archive -Path (Join-Path $work $archive) -DestinationPath $work
    New-Item -ItemType Directory -Force -Path $directory | Out-Null
    $target = Join-Path $directory 'shiro.exe'
    # A running program can't be replaced on Windows, but it can be moved aside.
    if (Test-Path $target) { Move-Item -Force $target "$target.old" }
    Move-Item (Join-Path $work 'shiro.exe') $target
    Remove-Item -Force -ErrorAction SilentlyContinue "$target.old"
    Write-Host "Installed $(& $target --version) in $directory"
    if (($env:PATH -split ';') -notcontains $directory) { Write-Host "$directory is not on your PATH; add it in the system settings." }
    Write-Host 'Try: shiro demo'
  } finally {
    Remove-Item -Recurse -Force $work
  }
}

Install-Shiro
