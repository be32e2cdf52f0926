package validate

import (
	"unicode"
	"unicode/utf8"

	"mcphub/validate/access"
	"mcphub/validate/chars"
)

// keyClass is what the name of an argument says about the strings under it (3.1).
type keyClass uint8

const (
	keyOther   keyClass = iota
	keyPath             // rule 1
	keySource           // rule 1, but text of several lines is source code
	keyContent          // rule 5: prose
	keyQuery            // rule 8 alone: SQL and other queries
	keyShell            // rule 4: a string for a shell
	keyWords            // rule 4: an argument vector
	keyEdit             // old, new or search: prose where the object says what is replaced by what
)

// The lists below are part of the documentation: findingsDoc prints them.

// pathWords make a key path-like, alone or at the end of a word (logfile).
var pathWords = []string{
	"path", "paths", "file", "files", "filepath", "filepaths", "filename", "filenames", "directory", "directories",
	"dir", "dirs", "folder", "folders", "root", "roots", "cwd", "cwds", "source", "sources", "src", "srcs",
	"destination", "destinations", "dest", "dests", "dst", "dsts", "pathname", "pathnames", "dirname", "foldername",
}

// notPathWords end like a path word and mean something else.
var notPathWords = chars.WordSet("profile profiles resource resources direction directions xpath jsonpath keypath psychopath osteopath " +
	"nadir scaffolder modest oldest coldest boldest wildest widest hidest opensource outsource squareroot taproot grassroot grassroots")

// contentWords, codeWords and matchWords, as the last word of a key, make its strings free text: prose, code, and what
// text is matched by.
var (
	contentWords = chars.WordSet("content contents text texts message messages body bodies data html markdown md comment comments title titles " +
		"note notes reason reasons thought thoughts observation observations prompt prompts description descriptions instruction instructions " +
		"question questions keyword keywords needle find replace replacement replacements summary snippet snippets prose diff patch")
	codeWords  = chars.WordSet("code function javascript js css latex")
	matchWords = chars.WordSet("regex regexp xpath jsonpath jq selector selectors locator locators grep")
)

// queryWords, as the last word of a key, say that a string is of some language that asks for data.
var queryWords = chars.WordSet("query queries q search sql statement statements expression expressions expr filter filters")

// patchWords are the keys of content whose headers name files.
var patchWords = chars.WordSet("diff patch")

// stopWords, as the last word of a key, say that the key is about a path but is none: rule 2 applies.
var stopWords = chars.WordSet("id ids key keys cause causes type types kind kinds count counts size sizes length lengths limit limits " +
	"max min offset mode modes format formats encoding charset language languages lang branch suffix suffixes extension extensions ext exts " +
	"hash hashes sha checksum digest version versions status state index line lines column columns label labels tag tags " +
	"url urls uri uris href link links pattern patterns glob globs color colour owner permission permissions " +
	"depth level levels number numbers total timestamp date time flag enabled")

var (
	shellWords     = chars.WordSet("command commands cmd cmds cmdline commandline script scripts shell run exec execute bash sh zsh powershell pwsh terminal cli")
	shellTails     = chars.WordSet("line lines string str text content code body value") // commandLine, scriptContent
	vectorWords    = chars.WordSet("args argv flags arguments")
	innerPaths     = chars.WordSet("key json x property field attribute element")
	programWords   = chars.WordSet("command cmd interpreter python executable program exe bin binary runtime shell node")
	separatorWords = chars.WordSet("sep separator separators delimiter delimiters delim op operator char character")
	programKeys    = chars.WordSet("shell interpreter executable program")
	cellWords      = chars.WordSet("cell code notebook new old")
	segmentWords   = chars.WordSet("segments parts components")
	editWords      = chars.WordSet("old new search find replace replacement") // before "string"
	replacedWords  = chars.WordSet("search old")                              // beside newWords
	newWords       = chars.WordSet("replace replacement new")
	editKeys       = chars.WordSet("search old new")
)

const maxKey = 256 // of a key, in bytes, that is read word by word; a longer one is nobody's argument name

// classOf reads a key by the whole words of camel, snake and kebab case. Letters are compared under Unicode case
// folding, because a child may (encoding/json does).
func classOf(key string) keyClass { return new(keyBuffer).classOf(key) }

func (b *keyBuffer) classOf(key string) keyClass {
	if len(key) > maxKey {
		key = key[len(key)-maxKey:]
	}
	list := b.split(key)
	if len(list) == 0 {
		return keyOther
	}
	last := list[len(list)-1]
	if len(list) > 1 {
		switch before := string(list[len(list)-2]); {
		case shellTails[string(last)] && (before == "command" || before == "cmd" || before == "script" || before == "shell"):
			return keyShell
		case string(last) == "path" && innerPaths[before]:
			return keyOther // of a place in a document
		}
	}
	if class, ok := lastWords[string(last)]; ok {
		return class
	}
	if (string(last) == "string" || string(last) == "str") && len(list) > 1 && editWords[string(list[len(list)-2])] {
		return keyContent
	}
	for _, w := range list {
		if !isPathWord(w) {
			continue
		}
		if string(last) == "source" || string(last) == "src" {
			return keySource
		}
		return keyPath
	}
	return keyOther
}

// lastWords is what the last word of a key says by itself.
var lastWords = func() map[string]keyClass {
	m := make(map[string]keyClass)
	for _, l := range []struct {
		set   map[string]bool
		class keyClass
	}{{stopWords, keyOther}, {vectorWords, keyWords}, {shellWords, keyShell}, {contentWords, keyContent}, {codeWords, keyContent}, {matchWords, keyContent}, {queryWords, keyQuery}, {editKeys, keyEdit}} {
		for w := range l.set {
			m[w] = l.class
		}
	}
	return m
}()

func isPathWord(w []byte) bool {
	if len(w) < 3 || !pathEnds[w[len(w)-1]] || notPathWords[string(w)] {
		return false
	}
	for _, p := range pathWords {
		if len(w) >= len(p) && string(w[len(w)-len(p):]) == p {
			return true
		}
	}
	return false
}

// pathEnds are the last letters of pathWords.
var pathEnds = func() (ends [256]bool) {
	for _, p := range pathWords {
		ends[p[len(p)-1]] = true
	}
	return ends
}()

// keyBuffer is where the words of one key are put, until the next one is read.
type keyBuffer struct {
	text [2 * maxKey]byte
	list [24][]byte
}

// split returns the folded words of key: fileAbsolutePath, file_absolute_path, file-absolute-path and XMLFile2 are split
// at case changes, digits and everything that is no letter.
func (b *keyBuffer) split(key string) [][]byte {
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

var (
	deleteVerbs = chars.WordSet("delete remove rm rmdir unlink trash purge destroy erase del clean drop wipe")
	moveVerbs   = chars.WordSet("move rename mv")
	copyVerbs   = chars.WordSet("copy cp duplicate")
	readVerbs   = chars.WordSet("read get list ls search find show view stat info describe cat head tail grep inspect check diff status " +
		"log blame tree lookup query exists preview parse analyze analyse explain count open browse load directory")
	writeVerbs = chars.WordSet("write edit create put append patch update save insert modify replace set add make mkdir touch generate " +
		"export convert download commit checkout reset init apply install build run execute exec start pack clone record upload init")
	fromWords = chars.WordSet("source sources src srcs from old origin")
	toWords   = chars.WordSet("destination destinations dest dests dst to new output outputs out outfile outdir target save")
)

// toolTraits are what a tool's name and annotations say about what it does with paths.
type toolTraits struct {
	role       access.Role // of every path, where the argument's name says nothing else
	move, copy bool
	known      bool // by a word of the name or an annotation
}

// traitsOf takes the strictest word of the name. A child's annotation may say that a tool only reads; it does not
// outweigh a name that says otherwise. Unknown counts as write.
func traitsOf(name string, readOnly, destructive bool) toolTraits {
	var tr toolTraits
	var b keyBuffer
	known := access.None
	for _, w := range b.split(name) {
		switch {
		case moveVerbs[string(w)]:
			tr.move = true
			known = max(known, access.Write)
		case copyVerbs[string(w)]:
			tr.copy = true
			known = max(known, access.Write)
		case deleteVerbs[string(w)]:
			known = max(known, access.Delete)
		case writeVerbs[string(w)]:
			known = max(known, access.Write)
		case readVerbs[string(w)]:
			known = max(known, access.Read)
		}
	}
	switch {
	case known != access.None:
		tr.role = known
	case readOnly:
		tr.role = access.Read
	default:
		tr.role = access.Write
	}
	tr.known = known != access.None || readOnly || destructive
	if destructive && tr.role == access.Read {
		tr.role = access.Write
	}
	return tr
}

// roleOf is the role of a path found under key.
func (tr toolTraits) roleOf(b *keyBuffer, key string) access.Role {
	from, to := false, false
	for _, w := range b.split(key) {
		from = from || fromWords[string(w)]
		to = to || toWords[string(w)]
	}
	switch {
	case tr.move && from && !to:
		return access.Delete // it is gone afterwards
	case tr.move, to:
		return max(tr.role, access.Write)
	case tr.copy && from:
		return access.Read
	}
	return tr.role
}

// isContext reports a key that says where a tool works: cwd, workdir, working_directory, projectRoot, repo_path.
func isContext(b *keyBuffer, key string) bool {
	list := b.split(key)
	for i, w := range list {
		switch string(w) {
		case "cwd", "workdir", "workspace", "worktree", "repo", "repository", "project", "working":
			return i == len(list)-1 || isPathWord(list[len(list)-1])
		}
	}
	return false
}
