# Tries on a real Windows what Wine lacks. The first argument is mcphub.exe. It runs in PowerShell 5 and 7.
param([Parameter(Mandatory)] [string] $Hub)
$ErrorActionPreference = 'Continue' # in PowerShell 5 a line on the standard error of a program would end the script
$failures = 0
$top = Join-Path ([IO.Path]::GetTempPath()) ('mcphub-' + [Guid]::NewGuid().ToString('N'))
$root = Join-Path $top 'new-root' # begins with an n after a backslash
$out = Join-Path $top 'out'
$null = New-Item -ItemType Directory -Path $root, $out, "$root\real"
foreach ($file in "$root\inside.txt", "$root\real\x.txt", "$out\secret.txt") { Set-Content -Path $file -Value 'x' }
$config = Join-Path $top 'hub.json'
# Arguments that cmd would read otherwise than they are written.
$arguments = @{ plain = 'plain'; ampersand = 'https://h/mcp?a=1&b=2'; variable = '%PATH%'; quotes = '{"a": "b c"}'; caret = 'a^b|c!d' }
$servers = @{ files = @{ builtin = 'files' } }
foreach ($name in $arguments.Keys) { $servers[$name] = @{ command = 'npx'; args = @('-y', '@modelcontextprotocol/server-everything', 'stdio', $arguments[$name]) } }
@{ mcpServers = $servers } | ConvertTo-Json -Depth 6 | Set-Content -Path $config -Encoding Ascii

function Test-Call([string] $What, [string] $Path, [bool] $Passes) {
    & $Hub call files__read_text_file "path=$Path" --root $root --config $config *> "$top\said.txt"
    $passed = $LASTEXITCODE -eq 0
    if ($passed -ne $Passes) {
        Write-Host "FAIL: ${What}: $Path passes: $passed"
        Get-Content "$top\said.txt" | Write-Host
        $script:failures++
    } else { Write-Host "ok: $What" }
}

# A reparse point with a tag of its own, with data as its program writes it.
Add-Type -TypeDefinition @'
using System; using System.ComponentModel; using System.IO; using System.Runtime.InteropServices; using Microsoft.Win32.SafeHandles;
public static class Reparse {
    [DllImport("kernel32.dll", SetLastError = true, CharSet = CharSet.Unicode)]
    static extern SafeFileHandle CreateFileW(string name, uint access, uint share, IntPtr security, uint how, uint flags, IntPtr template);
    [DllImport("kernel32.dll", SetLastError = true)]
    static extern bool DeviceIoControl(SafeFileHandle file, uint code, byte[] data, int size, IntPtr answer, int answerSize, out int got, IntPtr overlapped);
    // FSCTL_SET_REPARSE_POINT, with the header of tags of Microsoft: tag, length, reserved.
    public static void Set(string path, uint tag, byte[] data) {
        using (var file = CreateFileW(path, 0x40000000, 7, IntPtr.Zero, 3, 0x02200000, IntPtr.Zero)) {
            if (file.IsInvalid) throw new Win32Exception();
            var all = new MemoryStream();
            all.Write(BitConverter.GetBytes(tag), 0, 4);
            all.Write(BitConverter.GetBytes((ushort)data.Length), 0, 2);
            all.Write(new byte[2], 0, 2);
            all.Write(data, 0, data.Length);
            int got;
            if (!DeviceIoControl(file, 0x000900A4, all.ToArray(), (int)all.Length, IntPtr.Zero, 0, out got, IntPtr.Zero)) throw new Win32Exception();
        }
    }
}
'@

Test-Call 'a file in the root' "$root\inside.txt" $true
Test-Call 'a file outside' "$out\secret.txt" $false

# Junctions and links
cmd /c mklink /J "$root\junction" "$out" | Out-Null
Test-Call 'outside by a junction' "$root\junction\secret.txt" $false
cmd /c mklink /J "$root\own" "$root\real" | Out-Null
Test-Call 'inside by a junction' "$root\own\x.txt" $true
cmd /c mklink /J "$root\far" '\\localhost\C$\Windows' 2>&1 | Out-Null # a junction leads to no other machine; if it is made, it is refused
if (Test-Path "$root\far") { Test-Call 'a junction to a share' "$root\far\win.ini" $false }
cmd /c mklink /D "$root\link" "$out" | Out-Null
Test-Call 'outside by a link to a folder' "$root\link\secret.txt" $false
cmd /c mklink "$root\link.txt" "$out\secret.txt" | Out-Null
Test-Call 'outside by a link to a file' "$root\link.txt" $false

# What OneDrive leaves: a folder whose reparse tag is no link's. Where this user may not make one, nothing is tried.
$null = New-Item -ItemType Directory -Path "$root\cloud"
Set-Content -Path "$root\cloud\x.txt" -Value 'x'
try {
    $null = New-Item -ItemType Directory -Path "$root\tagged"
    [Reparse]::Set("$root\tagged", 0x9000001A, [byte[]](1..16)) # IO_REPARSE_TAG_CLOUD
    Test-Call 'a folder of OneDrive' "$root\tagged" $false # read_text_file reads no folder; the next line says whether it was refused as a link
    if (Select-String -Path "$top\said.txt" -Pattern 'reparse|link' -Quiet) { Write-Host 'FAIL: a folder of OneDrive counts as a link'; $failures++ }
} catch [ComponentModel.Win32Exception] { Write-Host "not tried: a folder of OneDrive: $_" }

# An alias of the Microsoft Store is a program: AppExecLink, three strings
try {
    $alias = "$root\python3.exe"
    $null = New-Item -ItemType File -Path $alias
    $text = [Text.Encoding]::Unicode.GetBytes("Package`0Package!App`0$env:SystemRoot\System32\cmd.exe`0" + "0`0")
    [Reparse]::Set($alias, 0x8000001B, ([BitConverter]::GetBytes([uint32]3) + $text))
    & $Hub validate --config $config *> "$top\said.txt"
    if ($LASTEXITCODE -ne 0) { Write-Host 'FAIL: validate beside an AppExecLink'; Get-Content "$top\said.txt" | Write-Host; $failures++ }
} catch [ComponentModel.Win32Exception] { Write-Host "not tried: an AppExecLink: $_" }

# Access lists: what is closed to this user is not there for a server, and the hub says so and goes on.
$closed = "$root\closed"
$null = New-Item -ItemType Directory -Path $closed
Set-Content -Path "$closed\x.txt" -Value 'x'
icacls $closed /deny "${env:USERNAME}:(OI)(CI)(F)" | Out-Null
Test-Call 'a folder that an access list closes' "$closed\x.txt" $false
icacls $closed /remove:d $env:USERNAME | Out-Null
Test-Call 'the same folder, open' "$closed\x.txt" $true

# Other names of a volume
Test-Call 'outside by a share of this machine' ('\\localhost\' + $out.Replace(':', '$') + '\secret.txt') $false
Test-Call 'outside by a device path' "\\?\$out\secret.txt" $false
subst Q: $top
Test-Call 'outside by another drive' 'Q:\out\secret.txt' $false
subst Q: /D

# npx starts, whatever its arguments.
foreach ($name in $arguments.Keys) {
    $answer = & $Hub call "${name}__echo" message=hello --root $root --config $config 2> "$top\said.txt" | Out-String
    if ($LASTEXITCODE -ne 0 -or -not $answer.Contains('hello')) {
        Write-Host "FAIL: npx with $($arguments[$name]): $answer"
        Get-Content "$top\said.txt" | Write-Host
        $failures++
    } else { Write-Host "ok: npx with $($arguments[$name])" }
}

cmd /c rmdir "$root\junction" "$root\own" "$root\link"
Remove-Item -Recurse -Force $top -ErrorAction SilentlyContinue
exit $failures
