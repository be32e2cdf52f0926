package uri

import (
	"slices"
	"strings"

	"mcphub/validate/chars"
)

// Kind is what a value's URI scheme makes of it.
type Kind uint8

const (
	None  Kind = iota // no scheme: an ordinary string
	File              // a file: URI, perhaps unwrapped
	Path              // a scheme that carries a path
	Other             // never a path; if it has no host, the text is a path if something is there
)

// wrapperSchemes stand before another URI.
var wrapperSchemes = chars.WordSet("view-source jar zip war ear nested url uri feed blob filesystem jdbc h2 wsjar vfs pack200 phar local")

// pathSchemes carry a path of this machine.
var pathSchemes = chars.WordSet("sqlite sqlite3 duckdb libsql unix unixgram unixpacket unix-connect sqlcipher ipc glob oci-layout compress.zlib compress.bzip2")

// editorSchemes carry one after //file.
var editorSchemes = chars.WordSet("vscode vscode-insiders vscodium code-oss cursor windsurf zed vscode-file")

// plainSchemes are never paths even without "//" behind them.
var plainSchemes = chars.WordSet("http https ws wss ftp ftps sftp ssh git svn data mailto tel sms urn about javascript magnet news " +
	"chrome devtools ldap s3 gs gcs abfss redis rediss postgres postgresql mysql mongodb cid mid geo bitcoin ipfs oci docker spotify")

// openSchemes are plain ones whose programs may open a file of this machine that stands in the rest: a socket, a key, a certificate.
var openSchemes = chars.WordSet("postgres postgresql mysql mongodb redis rediss ldap")

// MayWrap reports a URI whose program may open a file of this machine that stands anywhere in it. A scheme that is not known may be
// the scheme of any program if a command gets the URI; elsewhere it is mostly a server's own (repo://owner/name/etc/hosts).
func MayWrap(s string, inCommand bool) bool {
	name, _, ok := cutScheme(chars.TrimEdges(s))
	return ok && (openSchemes[name] || inCommand && !plainSchemes[name] && !remoteSchemes[name] && !editorSchemes[name])
}

// remoteSchemes carry a path of the machine that they name.
var remoteSchemes = chars.WordSet("ssh scp sftp rsync")

// storeSchemes stand before a path, or before another URI.
var storeSchemes = chars.WordSet("zip phar local")

// imageSchemes are URLs with "//" and paths with a single slash.
var imageSchemes = chars.WordSet("oci docker git svn ipfs")

const maxWrappers = 8

// Read looks for a scheme the way URL parsers do: tabs and line ends are dropped wherever they stand, controls
// and blanks at the edges. texts are the URI (File), the spellings of the path (Path), or the paths that a URL
// without a host may name (Other).
func Read(s string) (Kind, []string) { return read(s, cutScheme) }

// ReadOwn works like Read of the URI of a server that serves the scheme: one letter before "://" is a scheme too, and no drive. See Serves.
func ReadOwn(s string) (Kind, []string) { return read(s, cutAnyScheme) }

func read(s string, cutScheme func(string) (name, rest string, ok bool)) (Kind, []string) {
	s = chars.TrimEdges(s)
	if strings.ContainsAny(s, "\t\r\n") {
		s = chars.Breaks.Replace(s)
	}
	for wrappers := range maxWrappers {
		if inner, ok := archived(s); ok {
			if s = inner; !hasScheme(s) && !strings.HasPrefix(s, "/vsi") {
				return Path, []string{s}
			}
			continue
		}
		name, rest, ok := cutScheme(s)
		if !ok {
			return None, nil
		}
		first, last := name, name
		if i := strings.IndexByte(name, '+'); i >= 0 {
			first, last = name[:i], name[strings.LastIndexByte(name, '+')+1:]
		}
		switch {
		case name == "file" && wrappers == 0:
			return File, []string{"file:" + rest} // "!/" is an entry of an archive only inside another scheme
		case last == "file":
			return File, []string{"file:" + jarEntry(rest)}
		case chained(name, rest) != "":
			s = chained(name, rest)
		case name == "php" && strings.Contains(rest, "resource="):
			_, s, _ = strings.Cut(rest, "resource=")
		case name == "git" && strings.HasPrefix(rest, ":"): // git::https://..., git::/x
			if s = rest[1:]; !hasScheme(s) && (strings.HasPrefix(s, "/") || chars.Climbs(s)) {
				return Path, []string{s}
			}
			continue
		case storeSchemes[name] && !hasScheme(rest) && !chars.HasBlank(rest) && strings.TrimLeft(rest, "/") != "":
			s = jarEntry(rest)
			return Path, []string{strings.TrimPrefix(s, "//")}
		case wrapperSchemes[name]:
			s = jarEntry(rest)
			continue
		case imageSchemes[name] && !strings.HasPrefix(rest, "//") && (strings.HasPrefix(rest, "/") || chars.Climbs(rest)):
			return Path, []string{rest}
		case pathSchemes[first], (last == "unix" || last == "socket") && first != last && strings.HasPrefix(rest, "///"):
			return carried(rest)
		case strings.HasPrefix(rest, "//unix:/"): // http://unix:/run/x.sock:/v1
			socket, _, _ := strings.Cut(rest[len("//unix:"):], ":")
			return Path, []string{socket}
		case name == "fileb", name == "netdoc":
			return File, []string{"file:" + rest}
		case last == "unix": // http+unix://%2Frun%2Fdocker.sock/v1
			host, _, _ := strings.Cut(strings.TrimPrefix(rest, "//"), "/")
			return carried(chars.DecodePercent(host))
		case editorSchemes[name]:
			if p, ok := strings.CutPrefix(rest, "//file/"); ok {
				return carried("/" + p)
			}
			if p, ok := strings.CutPrefix(rest, "//vscode-remote/"); ok {
				return carried("/" + p)
			}
			return Other, nil
		case remoteSchemes[last] && strings.HasPrefix(rest, "//"):
			host, name, _ := strings.Cut(rest[2:], "/")
			if !IsThisHost(host) {
				return Other, nil
			}
			return Other, []string{"/" + name, "~/" + name}
		case strings.HasPrefix(rest, "///") && !plainSchemes[name]:
			return Other, []string{rest[2:]}
		case plainSchemes[name], strings.HasPrefix(rest, "//"):
			return Other, nil
		default:
			return None, nil
		}
		if !hasScheme(s) {
			return Path, []string{s}
		}
	}
	return File, []string{s} // wrapped too often to be honest: read as a URI that cannot be parsed
}

// Relative returns what follows file: if that begins with no slash, which is a relative path to package managers and databases.
func Relative(file string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(file, "file:")
	return rest, ok && rest != "" && !chars.IsSlash(rest[0])
}

// chained returns what a chain of file systems ends with, if that is a path or a file URI: zip://a::/x, simplecache::file:///x.
func chained(name, rest string) string {
	i := strings.LastIndex(":"+rest, "::")
	if i < 0 || plainSchemes[name] || name == "file" || name == "ext" {
		return ""
	}
	last := rest[i+1:]
	if scheme, _, ok := cutScheme(last); ok && !plainSchemes[scheme] || chars.IsHome(last) || chars.Climbs(last) || strings.HasPrefix(last, "/") && last != "/" {
		return last
	}
	return ""
}

// archives are the virtual file systems of GDAL that read a file of this machine.
var archives = chars.WordSet("vsizip vsigzip vsitar vsi7z vsirar vsisparse vsisubfile vsicrypt vsicached vsicurl")

// archived returns the file in /vsizip/x.zip/y, with braces or without.
func archived(s string) (inner string, ok bool) {
	if !strings.HasPrefix(s, "/vsi") {
		return "", false
	}
	name, rest, ok := strings.Cut(s[1:], "/")
	if !ok || !archives[name] || rest == "" {
		return "", false
	}
	if name == "vsisubfile" {
		_, rest, _ = strings.Cut(rest, ",")
	}
	if strings.HasPrefix(rest, "{") {
		rest, _, _ = strings.Cut(rest[1:], "}")
	}
	return rest, rest != ""
}

// cutScheme splits s at the colon of a scheme of two letters or more; one letter is a drive.
func cutScheme(s string) (name, rest string, ok bool) {
	i := strings.IndexByte(s, ':')
	if i < 2 || i > 40 || !chars.IsLetter(s[0]) {
		return "", "", false
	}
	for j := 1; j < i; j++ {
		if c := s[j]; !chars.IsLetter(c) && !chars.IsDigit(c) && c != '+' && c != '-' && c != '.' {
			return "", "", false
		}
	}
	return strings.ToLower(s[:i]), s[i+1:], true
}

// cutAnyScheme is cutScheme that takes one letter before "://" for a scheme too. If the text could be the path of a drive, that
// has to be judged as well.
func cutAnyScheme(s string) (name, rest string, ok bool) {
	if isShort(s) {
		return strings.ToLower(s[:1]), s[2:], true
	}
	return cutScheme(s)
}

func isShort(s string) bool {
	return len(s) > len("x://") && chars.IsLetter(s[0]) && strings.HasPrefix(s[1:], "://")
}

// Serves reports whether a URI has a scheme of one letter that a server uses for its own: own are the templates of its resources, and
// URIs that it lists.
func Serves(own []string, uri string) bool {
	return isShort(uri) && slices.ContainsFunc(own, func(t string) bool { return isShort(t) && strings.EqualFold(t[:1], uri[:1]) })
}

// WithListed adds a URI that a server lists to its templates, as far as Serves needs it.
func WithListed(templates []string, listed string) []string {
	if !isShort(listed) {
		return templates
	}
	return append(slices.Clip(templates), listed)
}

func hasScheme(s string) bool {
	_, _, ok := cutScheme(s)
	return ok
}

// jarEntry cuts the entry off jar:file:/x.jar!/entry.
func jarEntry(s string) string {
	file, _, _ := strings.Cut(s, "!/")
	return file
}

// carried reads what follows sqlite: and the like. Libraries disagree on whether the third slash belongs to the path,
// so both spellings count.
func carried(rest string) (Kind, []string) {
	rest, _ = chars.CutQuery(rest)
	p := strings.TrimPrefix(strings.TrimPrefix(rest, "/"), "/")
	relative := strings.TrimPrefix(p, "/")
	switch {
	case p == "", relative == ":memory:":
		return Other, nil
	case !strings.HasPrefix(rest, "//"):
		return Path, []string{rest}
	case relative == "":
		return Path, []string{p}
	case relative == p:
		return Path, []string{p, "/" + p}
	}
	return Path, []string{p, relative}
}

// EachFile yields the file: URIs inside a longer text, each up to the next blank, quote or angle bracket.
func EachFile(s string, yield func(uri string)) {
	for i := 0; i+6 <= len(s); {
		j := chars.IndexFold(s[i:], "file:")
		if j < 0 {
			return
		}
		j += i
		i = j + 5
		if i >= len(s) || !chars.IsSlash(s[i]) || j > 0 && (chars.IsLetter(s[j-1]) || chars.IsDigit(s[j-1])) { // profile:// is a scheme of its own
			continue
		}
		end := len(s)
		if k := strings.IndexFunc(s[i:], func(r rune) bool { return chars.IsBlank(r) || strings.ContainsRune("\"'`<>", r) }); k >= 0 {
			end = i + k
		}
		yield(s[j:end])
		i = end
	}
}
