package names

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"mcphub/internal/lazyregexp"
	"mcphub/validate/access"
	"mcphub/validate/chars"
)

// Class is what the name of an argument says about the strings under it.
type Class uint8

const (
	Other   Class = iota
	Path          // a path
	Source        // a path, but text of several lines is source code
	Content       // prose
	Query         // SQL and other queries
	Shell         // a string for a shell
	Words         // an argument vector
	Edit          // old, new or search: prose if the object reports what is replaced by what
	Typed         // typed into a running program
)

// The lists below are part of the documentation: docs/findings.md prints them.

// PathWords make a key path-like, alone or at the end of a word (logfile).
var PathWords = []string{
	"path", "paths", "file", "files", "filepath", "filepaths", "filename", "filenames", "directory", "directories",
	"dir", "dirs", "folder", "folders", "root", "roots", "cwd", "cwds", "source", "sources", "src", "srcs",
	"destination", "destinations", "dest", "dests", "dst", "dsts", "pathname", "pathnames", "dirname", "foldername",
}

// NotPathWords end like a path word and mean something else.
var NotPathWords = chars.WordSet("profile profiles resource resources direction directions xpath jsonpath keypath psychopath osteopath " +
	"nadir scaffolder modest oldest coldest boldest wildest widest hidest opensource outsource squareroot taproot grassroot grassroots")

// ContentWords, CodeWords and MatchWords, as the last word of a key, make its strings free text: prose, code, and what
// text is matched by.
var (
	ContentWords = chars.WordSet("content contents text texts message messages body bodies data html markdown md comment comments title titles " +
		"note notes reason reasons thought thoughts observation observations prompt prompts description descriptions instruction instructions " +
		"question questions answer answers subject subjects caption captions insight insights keyword keywords needle find replace replacement replacements summary snippet snippets prose diff patch")
	CodeWords  = chars.WordSet("code function javascript js css latex")
	MatchWords = chars.WordSet("regex regexp xpath jsonpath jq selector selectors locator locators grep")
)

// QueryWords, as the last word of a key, report that a string is of some language that asks for data.
var QueryWords = chars.WordSet("query queries q search sql statement statements expression expressions expr filter filters")

// PatchWords are the keys of content whose headers name files.
var PatchWords = chars.WordSet("diff patch")

// StopWords, as the last word of a key, report that the key is about a path but is none: the string alone decides.
var StopWords = chars.WordSet("id ids key keys cause causes type types kind kinds count counts size sizes length lengths limit limits " +
	"max min offset mode modes format formats encoding charset language languages lang branch suffix suffixes extension extensions ext exts " +
	"hash hashes sha checksum digest version versions status state index line lines column columns label labels tag tags " +
	"url urls uri uris href link links pattern patterns glob globs color colour owner permission permissions " +
	"depth level levels number numbers total timestamp date time flag enabled")

var (
	ShellWords     = chars.WordSet("command commands cmd cmds cmdline commandline script scripts shell run exec execute bash sh zsh powershell pwsh terminal cli")
	ShellTails     = chars.WordSet("line lines string str text content code body value") // commandLine, scriptContent
	VectorWords    = chars.WordSet("args argv flags arguments")
	innerPaths     = chars.WordSet("key json x property field attribute element")
	ProgramWords   = chars.WordSet("command cmd interpreter python executable program exe bin binary runtime shell node")
	SeparatorWords = chars.WordSet("sep separator separators delimiter delimiters delim op operator char character")
	CellWords      = chars.WordSet("cell code notebook new old")
	ProgramKeys    = chars.WordSet("shell interpreter executable program entrypoint")
	VolumeWords    = chars.WordSet("volume volumes bind binds mount mounts")
	StreamWords    = chars.WordSet("keys keystrokes chars stdin")
	InputWords     = chars.WordSet("input text data line lines") // of a tool that speaks to a running program
	SegmentWords   = chars.WordSet("segments parts components")
	EditWords      = chars.WordSet("old new search find replace replacement") // before "string"
	ReplacedWords  = chars.WordSet("search old")                              // beside NewWords
	NewWords       = chars.WordSet("replace replacement new")
	editKeys       = chars.WordSet("search old new")
)

// URIWords, anywhere in a key, report that a whole value under it may be a URI.
var URIWords = chars.WordSet("url urls uri uris iri iris href hrefs link links hyperlink hyperlinks permalink permalinks endpoint endpoints " +
	"webhook webhooks callback callbacks redirect website websites site sites webpage homepage feed feeds origin remote remotes " +
	"repo repos repository repositories src")

// URIEnds are how a word ends that has such a word in it: baseurl.
var URIEnds = []string{"url", "urls", "uri", "uris", "href", "link", "links", "endpoint", "endpoints"}

const maxKey = 256 // of a key, in bytes, that is read word by word; a longer one is no one's argument name

// ClassOf reads a key by the whole words of camel, snake and kebab case. Letters are compared under Unicode case
// folding, because a child may (encoding/json does).
func ClassOf(key string) Class { return new(Buffer).ClassOf(key) }

// ClassOf returns the class of a key.
func (b *Buffer) ClassOf(key string) Class {
	list := b.Split(key[max(0, len(key)-maxKey):])
	if len(list) == 0 {
		return Other
	}
	last, before := string(list[len(list)-1]), ""
	if len(list) > 1 {
		before = string(list[len(list)-2])
	}
	class, known := lastWords()[last]
	switch {
	case ShellTails[last] && (before == "command" || before == "cmd" || before == "script" || before == "shell"):
		return Shell
	case last == "path" && innerPaths[before]:
		return Other // of a place in a document
	case known:
		return class
	case (last == "string" || last == "str") && EditWords[before]:
		return Content
	case !slices.ContainsFunc(list, isPathWord):
		return Other
	case last == "source" || last == "src":
		return Source
	}
	return Path
}

// lastWords is what the last word of a key says by itself.
var lastWords = sync.OnceValue(func() map[string]Class {
	m := make(map[string]Class)
	for _, l := range []struct {
		set   map[string]bool
		class Class
	}{{StopWords, Other}, {VectorWords, Words}, {ShellWords, Shell}, {ContentWords, Content}, {CodeWords, Content}, {MatchWords, Content}, {QueryWords, Query}, {editKeys, Edit}, {StreamWords, Typed}} {
		for w := range l.set {
			m[w] = l.class
		}
	}
	return m
})

func isPathWord(w []byte) bool {
	return len(w) > 2 && pathEnds[w[len(w)-1]] && !NotPathWords[string(w)] &&
		slices.ContainsFunc(PathWords, func(p string) bool { return len(w) >= len(p) && string(w[len(w)-len(p):]) == p })
}

// pathEnds are the last letters of PathWords.
var pathEnds = func() (ends [256]bool) {
	for _, p := range PathWords {
		ends[p[len(p)-1]] = true
	}
	return ends
}()

// Buffer is where the words of one key are put, until the next one is read.
type Buffer struct {
	text [2 * maxKey]byte
	list [24][]byte
}

// Split returns the folded words of key: fileAbsolutePath, file_absolute_path, file-absolute-path and XMLFile2 are split
// at case changes, digits and everything that is no letter.
func (b *Buffer) Split(key string) [][]byte {
	const (
		none = iota
		lower
		upper
	)
	folded, list := b.text[:0], b.list[:0]
	begin, was := 0, none
	flush := func() {
		if len(folded) > begin {
			list = append(list, folded[begin:len(folded):len(folded)])
		}
		begin = len(folded)
	}
	for i, r := range key {
		now := none
		switch {
		case unicode.IsUpper(r) && r < 0x80:
			now = upper
		case unicode.IsLetter(r):
			now = lower
		}
		if now == none {
			flush()
			was = none
			continue
		}
		if now == upper && (was == lower || was == upper && lowerFollows(key[i+1:])) {
			flush()
		}
		folded = utf8.AppendRune(folded, chars.FoldRune(r))
		was = now
	}
	flush()
	return list
}

// lowerFollows ends a run of capitals: the P of XMLPath begins a word, the s of URLs does not.
func lowerFollows(rest string) bool {
	return rest != "" && 'a' <= rest[0] && rest[0] <= 'z' && rest[0] != 's' ||
		len(rest) > 1 && rest[0] == 's' && 'a' <= rest[1] && rest[1] <= 'z'
}

// NamesURI reports a key under which a whole value may be a URI.
func (b *Buffer) NamesURI(key string) bool {
	return slices.ContainsFunc(b.Split(key[max(0, len(key)-maxKey):]), func(w []byte) bool {
		return URIWords[string(w)] || slices.ContainsFunc(URIEnds, func(end string) bool { return strings.HasSuffix(string(w), end) })
	})
}

// LastWord returns the last word of a key, "" if it has none.
func (b *Buffer) LastWord(key string) string {
	list := b.Split(key)
	if len(list) == 0 {
		return ""
	}
	return string(list[len(list)-1])
}

// IsContext reports whether a key names the directory that a tool works in: cwd, workdir, working_directory, projectRoot, repo_path.
func IsContext(b *Buffer, key string) bool {
	list := b.Split(key)
	for i, w := range list {
		switch string(w) {
		case "cwd", "workdir", "workspace", "worktree", "repo", "repository", "project", "working":
			return i == len(list)-1 || isPathWord(list[len(list)-1])
		}
	}
	return false
}

var (
	deleteVerbs = chars.WordSet("delete remove rm rmdir unlink trash purge destroy erase del clean drop wipe")
	moveVerbs   = chars.WordSet("move rename mv")
	copyVerbs   = chars.WordSet("copy cp duplicate")
	readVerbs   = chars.WordSet("read get list ls search find show view stat info describe cat head tail grep inspect check diff status " +
		"log blame tree lookup query exists preview parse analyze analyse explain count open browse load directory")
	writeVerbs = chars.WordSet("write edit create put append patch update save insert modify replace set add make mkdir touch generate " +
		"export convert download commit checkout reset init apply install build run execute exec start pack clone record upload init")
	fromWords    = chars.WordSet("source sources src srcs from old origin")
	runningWords = chars.WordSet("process terminal session pty tty repl console interact tmux stdin keystrokes")
	sendingWords = chars.WordSet("send write input type typing interact feed keys press paste run exec execute stdin keystrokes")
	toWords      = chars.WordSet("destination destinations dest dests dst to new output outputs out outfile outdir target save")
)

// Traits are what a tool's name and annotations say about what it does with paths.
type Traits struct {
	Role       access.Role // of every path, if the argument's name says nothing else
	Move, Copy bool
	Known      bool // by a word of the name or an annotation
	Speaks     bool // it may speak to a running program
}

// TraitsOf takes the strictest word of the name. A child's annotation may report that a tool only reads; it does
// not outweigh a name that says otherwise. Unknown counts as write.
func TraitsOf(name string, readOnly, destructive bool) Traits {
	var tr Traits
	var b Buffer
	known := access.None
	running, sends := false, false
	for _, w := range b.Split(name) {
		running, sends = running || runningWords[string(w)], sends || sendingWords[string(w)]
		tr.Move, tr.Copy = tr.Move || moveVerbs[string(w)], tr.Copy || copyVerbs[string(w)]
		switch {
		case deleteVerbs[string(w)]:
			known = access.Delete
		case writeVerbs[string(w)], moveVerbs[string(w)], copyVerbs[string(w)]:
			known = max(known, access.Write)
		case readVerbs[string(w)]:
			known = max(known, access.Read)
		}
	}
	tr.Speaks = running && sends
	tr.Known = known != access.None || readOnly || destructive
	if known == access.None && readOnly {
		known = access.Read
	}
	if tr.Role = known; known == access.None || destructive {
		tr.Role = max(known, access.Write)
	}
	return tr
}

// describesTyping is how a schema describes text for a running program.
var describesTyping = lazyregexp.New(`(?i)\b(?:send|sent|typed?|enter|feed|fed)\b[^.]{0,20}\b(?:to|into|in)\b[^.]{0,20}\b(?:terminal|process|shell|repl|pty|tty|interpreter)\b`)

// ClassOf returns the class of an argument of the tool by its name and by how the schema describes it.
func (tr Traits) ClassOf(b *Buffer, key, description string) Class {
	class := b.ClassOf(key)
	if (class == Other || class == Content) && tr.Speaks && InputWords[b.LastWord(key)] || class == Other && description != "" && describesTyping.MatchString(description) {
		return Typed
	}
	return class
}

// RoleOf returns the role of a path found under key.
func (tr Traits) RoleOf(b *Buffer, key string) access.Role {
	from, to := false, false
	for _, w := range b.Split(key) {
		from = from || fromWords[string(w)]
		to = to || toWords[string(w)]
	}
	switch {
	case tr.Move && from && !to:
		return access.Delete // it is gone afterwards
	case tr.Move, to:
		return max(tr.Role, access.Write)
	case tr.Copy && from:
		return access.Read
	}
	return tr.Role
}
