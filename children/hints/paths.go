package hints

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mcphub/children/sandbox"
	"mcphub/internal/lazyregexp"
)

// This file finds what a text names: paths, and sockets by their variables.

// Bounds of how paths are looked for.
const (
	maxPaths  = 8 // of one text
	maxEnds   = 8 // of one path: it may hold blanks and quotes
	maxNested = 4 // texts within texts
	maxPath   = 4096
)

// cutToEdges returns a text as far as it is searched.
func cutToEdges(text string) string {
	if len(text) <= maxWhole {
		return text
	}
	return text[:maxEdge] + "\n" + text[len(text)-maxEdge:]
}

// linesOf returns the lines of a text. Of JSON in it, the strings of one object or array make a line.
func linesOf(text string) (lines []string) {
	if all, ok := stringsIn([]byte(text), 0); ok {
		return all
	}
	for line := range strings.SplitSeq(text, "\n") {
		if all, ok := stringsIn([]byte(line), 0); ok {
			lines = append(lines, all...)
		} else {
			lines = append(lines, line)
		}
	}
	return lines
}

// SaidIn returns the texts of an answer or a message of a child, which is JSON. Of a long one it returns the edges.
func SaidIn(raw []byte) string {
	if len(raw) <= maxWhole {
		if lines, ok := stringsIn(raw, 0); ok {
			return strings.Join(lines, "\n")
		}
	}
	return strings.ReplaceAll(cutToEdges(string(raw)), `\n`, "\n")
}

// stringsIn returns the strings in the objects and arrays of a JSON text, also in the ones that are written in such a
// string. The words of a refusal may stand beside its path, so the members of one object or array are joined, unless one
// says both. ok is false if the text is no object and no array.
func stringsIn(raw []byte, depth int) (lines []string, ok bool) {
	trimmed := strings.TrimLeft(string(raw[:min(len(raw), 64)]), " \t\r\n")
	if trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' || depth > maxNested || !jsontext.Value(raw).IsValid() {
		return nil, false
	}
	dec := jsontext.NewDecoder(strings.NewReader(string(raw)))
	var open [][]string // the strings of each object and array that the next token lies in
	var name string     // of the member that the next token is
	for {
		token, err := dec.ReadToken()
		if err != nil { // the end
			return lines, true
		}
		switch token.Kind() {
		case '{', '[':
			open = append(open, nil)
		case '}', ']':
			last := len(open) - 1
			if joined := strings.Join(open[last], ", "); joined != "" {
				lines = append(lines, joined)
			}
			open = open[:last]
		case '0': // the status of a program is told by its name
			if status := name + " " + token.String(); failureIn([]byte(status)) >= 0 {
				lines = append(lines, status)
			}
		case '"':
			if kind, n := dec.StackIndex(dec.StackDepth()); kind == '{' && n%2 == 1 {
				name = token.String()
				continue
			}
			text := token.String()
			if inner, ok := stringsIn([]byte(text), depth+1); ok {
				lines = append(lines, inner...)
			} else if at := len(open) - 1; at >= 0 && !strings.Contains(text, "\n") && !(strings.Contains(text, "/") && MentionsRefusal([]byte(text))) {
				open[at] = append(open[at], text)
			} else {
				lines = append(lines, strings.Split(text, "\n")...)
			}
		}
	}
}

// closing are the signs that end a path which begins behind another.
var closing = map[rune]string{'\'': "'", '"': `"`, '`': "`", '‘': "’", '“': "”", '«': "»"}

// ends are the signs that may end a path without quotes.
const ends = " \t\n'\"`)>],;:’”\\"

// behindPath is what stands behind a path without quotes that has blanks.
var behindPath = lazyregexp.New(`^(?::| \() ?(?:E(?:ACCES|PERM)|[Pp]ermission denied|[Oo]peration not permitted|[Aa]ccess is denied)`)

// withBlanks is a path that ends as names of files do, and in which no sign ends a part of a sentence.
var withBlanks = lazyregexp.New(`^[^:;,()'"]*[^:;,()'".]\.[[:alnum:]]{1,8}$`)

// inParts is what stands behind a part of a path that was quoted for a shell.
var inParts = lazyregexp.New(`^'(?:\$'|\\'|'|")`)

// A written is a path as it stands in a text: which of the ways to read it is meant depends on what is there.
type written struct {
	ways   []string // clean, the shortest first
	likely int      // which one is meant if nothing has any of these names; -1 for none
	next   int      // where the text goes on behind it
}

// pathAt returns the path that begins at a place of a text. home is what ~ is; "" if that is not known.
func pathAt(text string, i int, home string) (w written, ok bool) {
	at, begin := i, "" // where the path begins, and what stands for ~
	if strings.HasPrefix(text[i:], "~/") && home != "" {
		at, begin = i+1, home
	} else if text[i] != '/' || strings.HasPrefix(text[i:], "//") {
		return w, false
	}
	if scheme := strings.TrimRight(text[:i], "/"); i-len(scheme) >= 2 && strings.HasSuffix(scheme, ":") { // of a URL without a host, as sqlite:///data/x.db
		end := strings.IndexAny(text[i:], " \t\n'\"`)>],;’”?#\\")
		if end < 0 {
			end = len(text) - i
		}
		path, err := url.PathUnescape(text[i : i+end])
		if err != nil {
			path = text[i : i+end]
		}
		return written{[]string{filepath.Clean(path)}, 0, i + max(end, 1)}, true
	}
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	quote, quoted := closing[before]
	if i > 0 && !quoted && !strings.ContainsRune(" \t\n(<[=:,", before) {
		return w, false
	}
	line, _, _ := strings.Cut(text[at:], "\n")
	if quoted = quoted && strings.Contains(line, quote); !quoted {
		quote = ends
	}
	parts := false
	w = written{likely: -1}
	for from := 0; len(w.ways) < maxEnds; {
		end := strings.IndexAny(line[from:], quote)
		if quoted && from == 0 {
			end = strings.IndexAny(line, quote+`\`)
		}
		if end < 0 {
			if quoted {
				break
			}
			end = len(line) - from
		}
		end += from
		path := strings.TrimRight(line[:end], ".:")
		if quoted {
			path = line[:end]
		}
		if w.next == 0 {
			w.next = at + max(end, 1)
			parts = quoted && inParts.MatchString(line[end:])
		}
		if path = filepath.Clean(begin + path); path != "/" && (len(w.ways) == 0 || w.ways[len(w.ways)-1] != path) {
			if w.likely < 0 && !quoted && (behindPath.MatchString(line[end:]) || withBlanks.MatchString(path)) {
				w.likely = len(w.ways)
			}
			w.ways = append(w.ways, path)
		}
		if from = end + 1; from > len(line) {
			break
		}
	}
	if (i == 0 || strings.HasSuffix(text[:i], ": ")) && isSpeaker(line[min(w.next-at, len(line)):], i > 0) {
		w.ways = nil
	}
	if !parts {
		w.likely = max(w.likely, 0)
	}
	return w, true
}

// isSpeaker reports whether what stands before rest is the program that says it, as in
// "/bin/sh: 1: x: Permission denied". quoted: another one repeats its words, and then x has to be a path.
func isSpeaker(rest string, quoted bool) bool {
	first, about, more := strings.Cut(strings.TrimLeft(rest, ": "), ":")
	return more && !MentionsRefusal([]byte(first)) && (!quoted || strings.Contains(first+about, "/"))
}

// relativePath finds relative paths: a word alone is none.
var relativePath = lazyregexp.New(`(?:^|[\s'"‘“` + "`" + `(=:])((?:[^\s'"‘’“”` + "`" + `/:,;()=]+/)+[^\s'"‘’“”` + "`" + `/:,;()=]+)`)

// pathsIn returns the paths of a text that are there, or could be: their folder is there, or they were to be
// made with it. A relative path counts from where the child works, and from the folders that its entry names,
// because a script may have gone to its own.
func (r *reading) pathsIn(text string) (paths []string) {
	add := func(path string, at int) {
		if len(path) < maxPath && couldExist(path, makesPath(text[:at])) && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	for i := 0; i < len(text) && len(paths) < maxPaths; i++ {
		w, ok := pathAt(text, i, r.Home)
		if !ok {
			continue
		}
		likely := ""
		for n, way := range slices.Backward(w.ways) {
			if fileExists(way) {
				likely = way
				break
			}
			if n == w.likely {
				likely = way
			}
		}
		if likely != "" {
			add(likely, i)
		}
		i = w.next - 1
	}
	if len(paths) > 0 {
		return paths
	}
	for _, said := range relativePath.FindAllStringSubmatch(text, maxPaths) {
		for _, dir := range r.workFolders() {
			add(filepath.Join(dir, said[1]), 0)
		}
	}
	return paths[:min(len(paths), maxPaths)]
}

// couldExist reports whether a path is there, or could be.
func couldExist(path string, made bool) bool {
	if fileExists(path) {
		return true
	}
	dir := filepath.Dir(path)
	if made {
		dir = nearestDirectory(dir)
	}
	return dir != "/" && sandbox.IsDir(dir)
}

// workFolders returns the folders that relative paths of the child's may count from.
func (r *reading) workFolders() []string {
	dirs := slices.Clone(r.Dirs)
	for _, n := range r.Named {
		dir := n.Path
		if !sandbox.IsDir(dir) {
			dir = filepath.Dir(dir)
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// ofSockets are calls that a socket was to be used by, as traces of errors show them.
var ofSockets = lazyregexp.New(`\.(?:bind|connect)\(|socket\.socket\(|socket\.__init__\(|\bunix socket\b|\b(?:listen|connect|bind) E(?:ACCES|PERM)\b[^\n]* [/\x00@]|\b(?:bind|listen|connect|dial)\b[^\n]*\bunix\b|\bunix\b[^\n]*\b(?:bind|listen|connect|dial)\b`)

// services are the variables that name sockets of services, and how texts speak of these.
var services = []struct {
	variable string
	said     *lazyregexp.Regexp
}{
	{"SSH_AUTH_SOCK", lazyregexp.New(`(?i)\bagent\b|\bpublickey\b`)},
	{"DOCKER_HOST", lazyregexp.New(`(?i)docker`)},
	{"CONTAINER_HOST", lazyregexp.New(`(?i)podman`)},
	{"DBUS_SESSION_BUS_ADDRESS", lazyregexp.New(`(?i)d-?bus|\bbus\b`)},
}

// socketRefusal returns the socket that a line may say was refused, with the lines before it: the socket of a
// variable whose service or path they name, else any.
func (r *reading) socketRefusal(text string, k kind) (f sandbox.Refusal, ok bool) {
	if r.Profile.Sockets {
		return f, false
	}
	line := text[strings.LastIndexByte(text, '\n')+1:]
	f = sandbox.Refusal{Sockets: true, By: sandbox.ByServer}
	for _, pair := range r.Env {
		name, value, _ := strings.Cut(pair, "=")
		at := sandbox.SocketPath(value)
		if at == "" {
			continue
		}
		named := strings.Contains(text, at)
		for _, s := range services {
			named = named || s.variable == name && s.said.MatchString(line)
		}
		if fi, err := os.Stat(at); named && err == nil && fi.Mode()&os.ModeSocket != 0 && sandbox.MayUse(at, sandbox.Write) {
			f.Variable = name
			return f, true
		}
	}
	return f, k == refused && ofSockets.MatchString(text)
}
