package platform

import (
	"io/fs"
	"path"
	"runtime"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Platform is the family of path rules in force. All rules are pure functions
// of it, so that the functions for Windows can be tested anywhere.
type Platform uint8

const (
	Linux Platform = iota // and every Unix that is not macOS
	Darwin
	Windows
)

// Host returns the Platform of this process.
func Host() Platform {
	switch runtime.GOOS {
	case "windows":
		return Windows
	case "darwin", "ios":
		return Darwin
	}
	return Linux
}

// nameMax is the longest component that platforms open: bytes on Unix, UTF-16
// units on Windows.
const nameMax = 255

// pathMax returns the longest path that the platform opens.
func (p Platform) pathMax() int {
	switch p {
	case Windows:
		return 32766
	case Darwin:
		return 1023
	}
	return 4095
}

// Sep separates the components of a path.
func (p Platform) Sep() byte {
	if p == Windows {
		return '\\'
	}
	return '/'
}

// ListSep separates the entries of a list of paths in the environment.
func (p Platform) ListSep() string {
	if p == Windows {
		return ";"
	}
	return ":"
}

// RootLen returns the length of the part of an absolute path that ".." cannot leave, with its
// separator: 1 for "/x", 3 for `C:\x`, that of `\\server\share\` for a UNC path. 0 means that path
// is not absolute. A Windows path must have backslashes only: see FromSlash.
func (p Platform) RootLen(path string) int {
	if p != Windows {
		if strings.HasPrefix(path, "/") {
			return 1
		}
		return 0
	}
	if len(path) >= 3 && IsDrive(path) && path[2] == '\\' {
		return 3
	}
	if !strings.HasPrefix(path, `\\`) {
		return 0
	}
	server, rest, ok := strings.Cut(path[2:], `\`)
	if !ok || server == "" {
		return 0
	}
	share, _, more := strings.Cut(rest, `\`)
	if share == "" {
		return 0
	}
	n := 2 + len(server) + 1 + len(share)
	if more {
		n++
	}
	return n
}

// IsAbs reports whether path is absolute: on Windows with a drive or a share.
func (p Platform) IsAbs(path string) bool { return p.RootLen(p.FromSlash(path)) > 0 }

// FromSlash gives path the platform's own separator throughout.
func (p Platform) FromSlash(path string) string {
	if p == Windows {
		return strings.ReplaceAll(path, "/", `\`)
	}
	return path
}

// Clean removes ".", "..", and doubled or trailing separators from an absolute
// path, as text; links are not looked at. A drive letter becomes upper case. A
// path that is not absolute is returned unchanged.
func (p Platform) Clean(name string) string {
	if p != Windows {
		if !strings.HasPrefix(name, "/") {
			return name
		}
		return path.Clean(name)
	}
	name = p.FromSlash(name)
	n := p.RootLen(name)
	if n == 0 {
		return name
	}
	volume := strings.TrimSuffix(name[:n], `\`)
	if IsDrive(volume) {
		volume = strings.ToUpper(volume[:1]) + volume[1:]
	}
	rest := path.Clean("/" + strings.ReplaceAll(name[n:], `\`, "/"))
	return volume + strings.ReplaceAll(rest, "/", `\`)
}

// Join puts the relative path rel below the absolute directory dir, as text and
// without cleaning: a ".." in rel stays for the caller that resolves it.
func (p Platform) Join(dir, rel string) string {
	sep := string(p.Sep())
	if strings.HasSuffix(dir, sep) {
		return dir + rel
	}
	return dir + sep + rel
}

// Parent returns the directory of a cleaned absolute path; a root is its own.
func (p Platform) Parent(path string) string {
	n := p.RootLen(path)
	i := strings.LastIndexByte(path, p.Sep())
	if i < n {
		return path[:n]
	}
	return path[:i]
}

// FromMSYS turns /c/x into C:\x, which is how Git Bash and MSYS write it. Other
// paths are returned unchanged.
func (p Platform) FromMSYS(path string) string {
	if p != Windows || len(path) < 2 || path[0] != '/' || !isLetter(path[1]) {
		return path
	}
	if len(path) > 2 && path[2] != '/' {
		return path
	}
	return strings.ToUpper(path[1:2]) + `:\` + strings.TrimPrefix(path[2:], "/")
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// IsDrive reports whether s begins with a drive: a letter and a colon.
func IsDrive(s string) bool { return len(s) >= 2 && s[1] == ':' && isLetter(s[0]) }

// HasDotDot reports whether one of the components of path is "..".
func (p Platform) HasDotDot(path string) bool {
	if !strings.Contains(path, "..") {
		return false
	}
	for component := range strings.SplitSeq(path, string(p.Sep())) {
		if component == ".." {
			return true
		}
	}
	return false
}

// CheckPath refuses what no filesystem of the platform can mean, before
// anything is looked up. path has the platform's own separators.
func (p Platform) CheckPath(path string) Cause {
	longest := p.pathMax()
	switch {
	case path == "":
		return CauseNotAbsolute
	case strings.IndexByte(path, 0) >= 0:
		return CauseNUL
	case !utf8.ValidString(path):
		return CauseEncoding
	case len(path) > longest && (p != Windows || len(utf16.Encode([]rune(path))) > longest):
		return CauseTooLong
	case p == Windows && IsDevice(path):
		return CauseDevice
	case p.RootLen(path) == 0:
		return CauseNotAbsolute
	}
	return CauseNone
}

// IsDevice reports a path into the object manager: \\.\, \\?\, \??\. [Platform.Plain] gives the file that it may mean.
func IsDevice(path string) bool {
	for _, prefix := range []string{`\\.\`, `\\?\`, `\??\`} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return path == `\\.` || path == `\\?`
}

// Plain spells a path of Windows that begins in the object manager as what it means: C:\x for \\?\C:\x, and \\host\share for
// \\?\UNC\host\share. Other paths come back unchanged.
func (p Platform) Plain(path string) string {
	if p != Windows || len(path) < 4 || !IsDevice(p.FromSlash(path[:4])) {
		return path
	}
	rest := p.FromSlash(path[4:])
	cut := func(prefix string) bool {
		if len(rest) < len(prefix) || !strings.EqualFold(rest[:len(prefix)], prefix) {
			return false
		}
		rest = rest[len(prefix):]
		return true
	}
	if cut(`GLOBALROOT\`) {
		cut(`\`)
		cut(`??\`)
	}
	switch {
	case IsDrive(rest) && p.RootLen(rest) > 0:
		return rest
	case cut(`UNC\`), cut(`Device\Mup\`), cut(`Device\LanmanRedirector\`):
		return `\\` + strings.TrimLeft(rest, `\`)
	}
	return path
}

// Remote reports a path whose look-up asks another machine, or may: a UNC path or a device path. share
// is its server and share in one spelling; "" if they are not plain names, so that no root names them.
func (p Platform) Remote(path string) (share string, remote bool) {
	if p != Windows || len(path) < 2 || !isSeparator(path[0]) || !isSeparator(path[1]) && !strings.HasPrefix(path[1:], "??") {
		return "", false
	}
	path = p.FromSlash(path)
	if IsDrive(p.Plain(path)) {
		return "", false
	}
	n := p.RootLen(path)
	if n == 0 || IsDevice(path) {
		return "", true
	}
	share = strings.TrimSuffix(path[:n], `\`)
	if host, _, _ := strings.Cut(share[2:], `\`); !isUNCHost(host) {
		return "", true
	}
	return upperASCII(share), true
}

func isSeparator(c byte) bool { return c == '/' || c == '\\' }

// upperASCII folds the letters that every server folds. Folding others could make one host of two.
func upperASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, s)
}

// CheckName refuses one component, which is neither "." nor "..".
func (p Platform) CheckName(name string) Cause {
	if len(name) > nameMax && (p != Windows || len(utf16.Encode([]rune(name))) > nameMax) {
		return CauseTooLong
	}
	if p != Windows {
		return CauseNone
	}
	if strings.IndexByte(name, ':') >= 0 {
		return CauseStream
	}
	if last := name[len(name)-1]; last == '.' || last == ' ' {
		return CauseTrailing
	}
	for i := 0; i < len(name); i++ {
		if c := name[i]; c < 0x20 || strings.IndexByte(`<>"|?*`, c) >= 0 {
			return CauseReserved
		}
	}
	if isReserved(name) {
		return CauseReserved
	}
	return CauseNone
}

// isReserved reports a DOS device name. Windows strips what follows the first
// dot, and blanks before it; the superscript digits count as digits.
func isReserved(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	base = strings.ToUpper(strings.TrimRight(base, " "))
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	if !strings.HasPrefix(base, "COM") && !strings.HasPrefix(base, "LPT") {
		return false
	}
	switch base[3:] {
	case "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³":
		return true
	}
	return false
}

// IsMagic reports a name whose meaning depends on the process that looks: the
// hub would resolve its own, the child would open its own. name is absolute and
// clean as far as it has been walked.
func (p Platform) IsMagic(name string) bool {
	if p == Windows || len(name) < 5 {
		return false
	}
	switch {
	case strings.HasPrefix(name, "/dev/"):
		switch firstComponent(name[5:]) {
		case "fd", "stdin", "stdout", "stderr":
			return true
		}
	case strings.HasPrefix(name, "/proc/"):
		return magicProc(name[6:])
	case p == Darwin && name[1] == '.':
		// Volume file system, file reference and resolver prefixes of macOS: they
		// reach a file by number, or switch off the following of links.
		switch firstComponent(name[1:]) {
		case ".vol", ".file", ".nofollow", ".resolve":
			return true
		}
	}
	return false
}

// magicProc judges what follows /proc/: self, thread-self, and for any process
// or thread its cwd, root, exe and the members of fd, map_files and ns.
func magicProc(rest string) bool {
	who, rest, _ := strings.Cut(rest, "/")
	if who == "self" || who == "thread-self" {
		return true
	}
	if who == "" || strings.Trim(who, "0123456789") != "" {
		return false
	}
	what, rest, _ := strings.Cut(rest, "/")
	if what == "task" {
		_, rest, _ = strings.Cut(rest, "/") // the thread
		what, rest, _ = strings.Cut(rest, "/")
	}
	switch what {
	case "cwd", "root", "exe":
		return true
	case "fd", "map_files", "ns":
		return rest != ""
	}
	return false
}

// firstComponent returns the first component of a path that has no leading slash.
func firstComponent(s string) string {
	name, _, _ := strings.Cut(s, "/")
	return name
}

// IsLink reports the type of a name that stands for another one. On Windows a junction, and what
// no program can follow, are irregular.
func (p Platform) IsLink(mode fs.FileMode) bool {
	return mode&fs.ModeSymlink != 0 || p == Windows && mode&(fs.ModeIrregular|fs.ModeDir) == fs.ModeIrregular
}

// Below reports whether a clean path is dir or lies below it.
func (p Platform) Below(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == p.Sep() || len(dir) == p.RootLen(dir))
}
