package hints

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"mcphub/children/sandbox"
	"mcphub/internal/lazyregexp"
	"mcphub/internal/printable"
)

// Bounds of what is read.
const (
	maxWhole   = 16 << 10        // bytes of a text that is searched from end to end
	maxEdge    = 1 << 10         // at either end of a longer one
	maxLines   = 32              // of a text that are looked at, of those with words of a refusal
	maxUnnamed = 4 << 10         // bytes of a text that may mean what the call or the entry names: a longer one is a document
	justNow    = 2 * time.Second // for which an error may be about what was written to stderr
)

// A Reader reads what one run of a confined child says, and counts what it was refused.
type Reader struct {
	Profile *sandbox.Profile
	Named   []sandbox.Named          // the paths that its entry names
	Dirs    []string                 // where it works: its working directory, its roots
	Home    string                   // what ~ is in its texts
	Env     []string                 // its variables, which name sockets
	Never   func(path string) string // why no name opens a path; "" if one may
	Told    func(sandbox.Refusal)    // is told once of each refusal that the hub itself has made; nil: no one is
	Brokers bool                     // the hub can open a file for it in a folder that stays closed
	Shared  bool                     // several sessions share the run: what it writes to stderr is about none of their calls

	mu   sync.Mutex // guards the rest
	n    int
	last sandbox.Refusal
	said time.Time // when it wrote to stderr of what its entry names, or of sockets
	made time.Time // when the hub itself refused last
	mine sandbox.Refusal
	late []string // the last lines of stderr: the trace before an error shows the call
	once bool     // the status of a failed program was told, without a reason
	seen []sandbox.Refusal
}

// holdsAny reports whether there is anything that the kernel could refuse.
func (reader *Reader) holdsAny() bool { return reader != nil && reader.Profile != nil }

// MayExplain reports whether an answer of the child, or a message of its log, may tell about a refusal by
// its own words. failed is for an answer that is an error: then what was written to stderr just before
// counts too. It is fast.
func (reader *Reader) MayExplain(answer []byte, failed bool) bool {
	if !reader.holdsAny() {
		return false
	}
	k := searchedKind(answer)
	return k.isRefusal() || failed && !reader.Shared && reader.hasSaid() || k == ended && len(answer) <= maxUnnamed && failureIn(answer) >= 0 && !reader.hasToldFailure()
}

// hasToldFailure reports whether tellsFailure has been true.
func (reader *Reader) hasToldFailure() bool {
	reader.mu.Lock()
	defer reader.mu.Unlock()
	return reader.once
}

// tellsFailure reports whether a text holds no more than the status of a failed program, as if the program hides
// what it was refused. It reports that once: a search that finds nothing ends so as well, each time.
func (reader *Reader) tellsFailure(text string) bool {
	if reader.Profile.Unbounded || len(text) > maxUnnamed || kindOf([]byte(text)) != ended || !isUnexplained(text) {
		return false
	}
	reader.mu.Lock()
	defer reader.mu.Unlock()
	first := !reader.once
	reader.once = true
	return first
}

// hasSaid reports whether the child has written of a refusal, or the hub has refused it something.
func (reader *Reader) hasSaid() bool {
	reader.mu.Lock()
	defer reader.mu.Unlock()
	return !reader.said.IsZero() || !reader.made.IsZero()
}

func (reader *Reader) saidAt() time.Time {
	reader.mu.Lock()
	defer reader.mu.Unlock()
	return reader.said
}

// Refusals returns how many refusals there were, and the last of them.
func (reader *Reader) Refusals() (n int, last sandbox.Refusal) {
	if reader == nil {
		return 0, last
	}
	reader.mu.Lock()
	defer reader.mu.Unlock()
	return reader.n, reader.last
}

// NoteRefused remembers what the hub itself has refused the child at a path, for the kernel. It is exact, so it comes before
// what the child says.
func (reader *Reader) NoteRefused(path string, a sandbox.Access) {
	f := (&reading{Reader: reader}).finishRefusal(sandbox.Refusal{Path: path, By: sandbox.ByNotice, Access: a}, path, false)
	reader.mu.Lock()
	reader.last, reader.mine, reader.made = f, f, time.Now()
	first := len(reader.seen) < maxSeen && !slices.Contains(reader.seen, f)
	if first {
		reader.seen = append(reader.seen, f)
		reader.n++
	}
	reader.mu.Unlock()
	if first && reader.Told != nil {
		reader.Told(f)
	}
}

// ownRefusal returns what the hub itself has refused the child just now.
func (reader *Reader) ownRefusal(text string) (f sandbox.Refusal, ok bool) {
	reader.mu.Lock()
	defer reader.mu.Unlock()
	return reader.mine, time.Since(reader.made) < justNow && (!reader.Shared || strings.Contains(text, reader.mine.Path))
}

// ReadResponse reads an answer of the child. called are the paths of the call that it answers, with
// what the call wants there; failed is as in MayExplain. It is ok if the kernel has refused the child
// something. It looks at the file system.
func (reader *Reader) ReadResponse(text string, called []sandbox.Rule, failed bool) (f sandbox.Refusal, ok bool) {
	if !reader.holdsAny() {
		return f, false
	}
	if f, ok = reader.ownRefusal(text); ok && (failed || MentionsRefusal([]byte(text))) {
		return f, true // counted already
	}
	f, ok = (&reading{Reader: reader, called: called}).readRefusal(text)
	if !ok && failed && !reader.Shared && time.Since(reader.saidAt()) < justNow {
		_, f = reader.Refusals()
		return f, true // counted already
	}
	if ok {
		reader.mu.Lock()
		reader.n++
		reader.last = f
		reader.mu.Unlock()
		return f, true
	}
	if reader.tellsFailure(text) {
		return sandbox.Refusal{Unexplained: true}, true // it counts for no refusal
	}
	return sandbox.Refusal{}, false
}

// Closes reports whether the child may not do that at a path which a call names.
func (reader *Reader) Closes(path string, a sandbox.Access) (f sandbox.Refusal, ok bool) {
	if !reader.holdsAny() || reader.Profile.Unbounded || path == "" {
		return f, false
	}
	in := &reading{Reader: reader}
	if in.isOpened(path, a) {
		return f, false
	}
	return in.finishRefusal(sandbox.Refusal{Path: path, By: sandbox.ByCall, Access: a}, path, a&sandbox.Write != 0 && !fileExists(path)), true
}

// Restricts reports whether the child gets less of a path that its entry names than it may
// need: nothing, or a database without the folder in which it makes files beside it.
func (reader *Reader) Restricts(n sandbox.Named) (f sandbox.Refusal, ok bool) {
	if reader.Profile.Unbounded {
		return f, false
	}
	in := &reading{Reader: reader}
	f = sandbox.Refusal{Path: n.Path, By: sandbox.ByEntry, At: n.Key, Access: sandbox.Read}
	journal := n.Path + "-journal" // that a database makes beside it
	switch {
	case n.Why != "" && n.Access&sandbox.Read == 0:
		return in.finishRefusal(f, n.Path, !fileExists(n.Path)), true
	case n.Access&sandbox.Write != 0 && isData(n.Path) && !sandbox.IsDir(n.Path) && !in.isOpened(journal, sandbox.Write):
		f.Access = sandbox.Write
		return in.finishRefusal(f, journal, true), true
	}
	return f, false
}

// maxSeen bounds how many refusals of one run are told apart.
const maxSeen = 100

// ReadStderr reads what the child has written to stderr, or to its log: a line, or more. It is ok if that
// tells about a refusal, and first if it had not told about it before.
func (reader *Reader) ReadStderr(text string) (f sandbox.Refusal, ok, first bool) {
	if !reader.holdsAny() {
		return f, false, false
	}
	before := reader.noteText(text)
	if !MentionsRefusal([]byte(text)) {
		return f, false, false
	}
	if f, ok = (&reading{Reader: reader, before: before}).readRefusal(text); !ok {
		return f, false, false
	}
	reader.mu.Lock()
	defer reader.mu.Unlock()
	if f.By == sandbox.ByEntry || f.Sockets { // else it may be a log of its own, and no reason why calls fail
		reader.said = time.Now()
	}
	if reader.last = f; len(reader.seen) == maxSeen || slices.Contains(reader.seen, f) {
		return f, true, false
	}
	reader.seen = append(reader.seen, f)
	reader.n++
	return f, true, true
}

// noteText remembers what was written to stderr, and gives the lines before it.
func (reader *Reader) noteText(text string) (before []string) {
	reader.mu.Lock()
	defer reader.mu.Unlock()
	before = reader.late
	late := slices.Concat(before, strings.Split(strings.TrimSuffix(text, "\n"), "\n"))
	reader.late = slices.Clone(late[max(0, len(late)-socketLines):])
	return before
}

// reading is one text that is read.
type reading struct {
	*Reader
	called []sandbox.Rule
	before []string // lines that stood before it
}

func (r *reading) readRefusal(text string) (f sandbox.Refusal, ok bool) {
	text = cutToEdges(text)
	lines := linesOf(text)
	all := slices.Concat(r.before, lines)
	unnamed, looked := nothing, 0
	for i, line := range lines {
		k := kindOf([]byte(line))
		if !k.isRefusal() {
			continue
		}
		if looked++; looked > maxLines {
			break
		}
		if k == refused || k == service {
			if f, ok = r.socketRefusal(strings.Join(all[max(0, len(r.before)+i-socketLines):len(r.before)+i+1], "\n"), k); ok {
				return f, true
			}
		}
		if r.Profile.Unbounded || k == service {
			continue
		}
		paths := r.pathsIn(line)
		named := len(paths) > 0
		if !named && k == database { // which one it is may stand on another line
			paths = slices.DeleteFunc(r.pathsIn(strings.Join(lines, "\n")), func(path string) bool { return !isData(path) })
		}
		for _, path := range paths {
			if f, ok = r.readPath(path, line, k); ok {
				return f, true
			}
		}
		switch {
		case k == module:
			if f, ok = r.moduleRefusal(line, text); ok {
				return f, true
			}
		case k == repository:
			if f, ok = r.repositoryRefusal(); ok {
				return f, true
			}
		case k == absent, named:
		case unnamed == nothing:
			unnamed = k
		}
	}
	if unnamed == nothing || len(text) > maxUnnamed {
		return f, false
	}
	return r.guessRefusal(unnamed)
}

// readPath reads a line that names a path.
func (r *reading) readPath(path, line string, k kind) (f sandbox.Refusal, ok bool) {
	own, access := r.pathOwner(path)
	if before, _, whole := strings.Cut(line, path); whole {
		line = before // what was to be done stands there
	}
	want := r.lackingAccess(path, line, access)
	if k == database && want == sandbox.Read && r.isPossible(path, sandbox.Write) {
		want = sandbox.Write // most open it to write, and fail if they may not
	}
	_, missing := os.Lstat(path)
	switch {
	case want == 0, !r.isPossible(path, want):
		return f, false
	case k != refused && k != database && missing != nil && !makesPath(line), // it is not there indeed
		k != refused && k != database && want == sandbox.Write && r.isOpened(path, sandbox.Read):
		return f, false
	}
	own.Access = want
	return r.finishRefusal(own, path, missing != nil && !makesPath(line) && !r.isStateFolder(path)), true
}

// isStateFolder reports whether a path that is not there has a name which programs give the folder of their
// state, and no file.
func (r *reading) isStateFolder(path string) bool {
	dir, name := filepath.Dir(path), filepath.Base(path)
	hidden := r.Home != "" && dir == filepath.Clean(r.Home) && strings.HasPrefix(name, ".")
	return strings.LastIndexByte(name, '.') <= 0 && (hidden || slices.ContainsFunc(sandbox.StateFolders, func(of string) bool { return dir == filepath.Join(r.Home, of) }))
}

// missingBase returns the folder in which programs keep their state and which a path needs, if it is not there; "" if it is there, or none
// is needed. A program makes it on the way to its own folder. It is opened to no server, because it holds what other programs keep.
func (r *reading) missingBase(path string) string {
	home := filepath.Clean(r.Home)
	if r.Home == "" || path == home {
		return ""
	}
	for _, of := range sandbox.StateFolders {
		base := filepath.Join(home, of)
		if sandbox.Contains(path, base) {
			base = path
		} else if !sandbox.Contains(base, path) {
			continue
		}
		if !fileExists(base) {
			return base
		}
	}
	return ""
}

// pathOwner returns who names a path: the entry or the call, if the path is what one of
// these names, lies in it, or was made beside it to take its place; else the child alone.
func (r *reading) pathOwner(path string) (f sandbox.Refusal, access sandbox.Access) {
	beside := func(name string) bool {
		return filepath.Dir(name) == filepath.Dir(path) && !sandbox.IsDir(name) && strings.Contains(filepath.Base(path), filepath.Base(name))
	}
	inside := func(name string) bool { // a folder that is closed to all servers says nothing about what lies in it
		return sandbox.Contains(name, path) && (name == path || r.keptReason(name) == "" || r.keptReason(path) != "")
	}
	for _, c := range r.called {
		if inside(c.Path) || beside(c.Path) {
			return sandbox.Refusal{Path: c.Path, By: sandbox.ByCall}, c.Access
		}
	}
	for _, n := range r.Named {
		if inside(n.Path) || beside(n.Path) {
			return sandbox.Refusal{Path: n.Path, By: sandbox.ByEntry, At: n.Key}, 0
		}
	}
	return sandbox.Refusal{Path: path, By: sandbox.ByServer}, 0
}

// finishRefusal returns what has to be opened for a path, and whether anything may be. made:
// it is a file that is not there and was to be made.
func (r *reading) finishRefusal(f sandbox.Refusal, path string, made bool) sandbox.Refusal {
	f.Opens = path
	top, dir := moduleOf(path), filepath.Dir(path)
	switch {
	case top == "" && f.Access == sandbox.Read && isScript(path) && r.keptReason(dir) == "": // it loads what lies beside it
		f.Opens = dir
	case top != "" && !r.isOpened(top, sandbox.Read): // of a linked module all is wanted
		f.Opens = top
	case made && r.besideFile(path) != "": // with the file, what is made beside it is open
		f.Opens, f.Access = r.besideFile(path), sandbox.Write
		made = false
	case made: // its directory has to be open, or the first on the way that is to be made
		f.Opens = firstMissing(dir)
	case f.By != sandbox.ByServer && sandbox.Contains(f.Path, path) && !r.isOpened(f.Path, sandbox.Read):
		f.Opens = firstMissing(f.Path)
	default:
		f.Opens = firstMissing(path)
	}
	if base := r.missingBase(path); base != "" {
		f.Kept, f.Opens = true, ""
		f.Why = fmt.Sprintf("%s is not there. `%s` makes it; call the tool again after that, and this names the folder of the server alone", printable.Escape(base, 300), printable.CommandLine([]string{"mkdir", "-p", base}))
		return f
	}
	if f.By == sandbox.ByServer && f.Opens != path && f.Opens != top && !made {
		f.Path = f.Opens
	}
	if at := sandbox.RealPath(f.Opens); fileExists(at) {
		f.Opens = at // a link in a root opens nothing
	} else {
		f.Opens = filepath.Join(sandbox.RealPath(filepath.Dir(at)), filepath.Base(at))
	}
	for _, p := range []string{path, f.Path, sandbox.RealPath(path)} {
		if why := r.keptReason(p); why != "" {
			f.Kept, f.Opens, f.Why = true, "", why
			return f
		}
	}
	if why := r.keptReason(f.Opens); why == "" && !fileExists(f.Opens) {
		f.Opens += string(filepath.Separator) // a folder, which is to be made
	} else if why != "" {
		f.Opens, f.Why = "", fmt.Sprintf("its folder %s is not offered, for %s: give the file a folder of its own", f.Opens, why)
	}
	return f
}

// besideFile returns the file beside which a path was to be made, if its folder may not be opened and the hub can open it for the
// child with what is made beside it; "" for none.
func (r *reading) besideFile(path string) string {
	dir := filepath.Dir(path)
	if !r.Brokers || r.keptReason(dir) == "" {
		return ""
	}
	for _, name := range sandbox.SiblingsOf(filepath.Base(path)) {
		at := filepath.Join(dir, name)
		if fi, err := os.Lstat(at); err == nil && fi.Mode().IsRegular() && r.keptReason(at) == "" {
			return at
		}
	}
	return ""
}

// moduleOf returns the folder of the installed module of Node that a path lies in; "" for none.
func moduleOf(path string) string {
	const mark = "/node_modules/"
	at := strings.LastIndex(path, mark)
	if at < 0 {
		return ""
	}
	parts := strings.Split(path[at+len(mark):], "/")
	n := 1
	if strings.HasPrefix(parts[0], "@") {
		n = 2
	}
	return path[:at+len(mark)] + strings.Join(parts[:min(n, len(parts))], "/")
}

// keptReason returns why nothing offers to open a path; "" if it may be.
func (r *reading) keptReason(path string) string {
	if r.Never != nil {
		if why := r.Never(path); why != "" {
			return why
		}
	}
	return sandbox.WhySecret(path)
}

// isOpened reports whether this may be done at a path.
func (r *reading) isOpened(path string, a sandbox.Access) bool {
	return a&^(r.Profile.AccessAt(path)&r.Profile.AccessAt(sandbox.RealPath(path))) == 0
}

// lackingAccess returns what was wanted at a path, and is not allowed there. access is what a
// call wants there, if one names it.
func (r *reading) lackingAccess(path, line string, access sandbox.Access) sandbox.Access {
	access &= sandbox.Read | sandbox.Write
	switch {
	case r.isOpened(path, sandbox.Read|sandbox.Write):
		return 0
	case r.isOpened(path, sandbox.Read):
		if access == sandbox.Read {
			return 0
		}
		return sandbox.Write
	case access&sandbox.Write != 0, writesPath(line), access == 0 && !fileExists(path): // what is not there was to be made
		return sandbox.Write
	}
	return sandbox.Read
}

// isPossible reports whether the user could do that without the sandbox: otherwise something
// else has refused it.
func (r *reading) isPossible(path string, a sandbox.Access) bool {
	at := sandbox.RealPath(path)
	if !fileExists(at) {
		if at = nearestDirectory(at); !sandbox.IsDir(at) {
			return false
		}
		a = sandbox.Write
	}
	return sandbox.MayUse(at, a)
}

// guessRefusal is for a text that names no path: one that the call or the entry names is meant,
// if it is closed.
func (r *reading) guessRefusal(k kind) (f sandbox.Refusal, ok bool) {
	for _, c := range r.called {
		if !r.isOpened(c.Path, c.Access&(sandbox.Read|sandbox.Write)) && r.isPossible(c.Path, c.Access) {
			return r.finishRefusal(sandbox.Refusal{Path: c.Path, By: sandbox.ByCall, Access: c.Access}, c.Path, !fileExists(c.Path)), true
		}
	}
	named := slices.Clone(r.Named)
	for _, rule := range r.Profile.Rules {
		if rule.Access&sandbox.Write != 0 && isData(rule.Path) { // by sandbox.write
			named = append(named, sandbox.Named{Key: "/sandbox/write", Path: rule.Path, Access: rule.Access})
		}
	}
	for _, n := range named {
		f = sandbox.Refusal{Path: n.Path, By: sandbox.ByEntry, At: n.Key, Access: sandbox.Read}
		journal := n.Path + "-journal" // that a database makes beside it
		switch {
		case !r.isOpened(n.Path, sandbox.Read) && r.isPossible(n.Path, sandbox.Read):
			if n.Access == 0 && k == database {
				f.Access = sandbox.Write
			}
			return r.finishRefusal(f, n.Path, !fileExists(n.Path)), true
		case k == database && isData(n.Path) && !r.isOpened(journal, sandbox.Write) && r.isPossible(filepath.Dir(n.Path), sandbox.Write):
			f.Access = sandbox.Write
			return r.finishRefusal(f, journal, true), true
		}
	}
	return f, false
}

// isScript reports a file that an interpreter runs, by its name.
func isScript(path string) bool {
	return !sandbox.IsDir(path) && slices.Contains([]string{".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".rb", ".pl", ".php", ".lua", ".sh"}, strings.ToLower(filepath.Ext(path)))
}

// isData reports a file that looks like a database.
func isData(path string) bool {
	return slices.Contains([]string{".db", ".db3", ".sqlite", ".sqlite3", ".duckdb"}, strings.ToLower(filepath.Ext(path)))
}

// gitDir finds where a worktree's repository is.
var gitDir = lazyregexp.New(`^gitdir: (/[^\n]+)`)

// repositoryRefusal returns the repository of what the call names, or of where the child works,
// if it is closed.
func (r *reading) repositoryRefusal() (f sandbox.Refusal, ok bool) {
	var from []string
	for _, c := range r.called {
		from = append(from, c.Path)
	}
	for _, dir := range append(from, r.Dirs...) {
		for ; ; dir = filepath.Dir(dir) {
			at := filepath.Join(dir, ".git")
			if fi, err := os.Lstat(at); err == nil {
				if text, err := os.ReadFile(at); err == nil && fi.Mode().IsRegular() {
					if to := gitDir.FindStringSubmatch(string(text)); to != nil && r.isOpened(at, sandbox.Read) {
						at = filepath.Clean(to[1])
					}
				}
				if !r.isOpened(at, sandbox.Read) && r.isPossible(at, sandbox.Read) {
					return r.finishRefusal(sandbox.Refusal{Path: at, By: sandbox.ByServer, Access: sandbox.Read}, at, false), true
				}
				break
			}
			if filepath.Dir(dir) == dir {
				break
			}
		}
	}
	return f, false
}

// moduleRefusal returns where a module lies that was not found by its name, if that is closed.
// It is looked for where programs do: in what the entry names, in the working directory, and in
// the folders of modules around files that the text names.
func (r *reading) moduleRefusal(line, text string) (f sandbox.Refusal, ok bool) {
	said := moduleName.FindStringSubmatch(line)
	if said == nil || strings.HasPrefix(said[1], ".") || filepath.IsAbs(said[1]) {
		return f, false
	}
	name := said[1]
	var tries []string
	dirs := slices.Clone(r.Dirs)
	for _, n := range r.Named {
		dirs = append(dirs, n.Path)
	}
	if strings.Contains(line, "o module named") {
		name, _, _ = strings.Cut(name, ".")
		for _, dir := range dirs {
			tries = append(tries, filepath.Join(dir, name), filepath.Join(dir, name+".py"))
		}
	} else {
		for _, dir := range append(r.pathsIn(text), dirs...) {
			for ; filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
				tries = append(tries, filepath.Join(dir, "node_modules", name))
			}
		}
	}
	for _, try := range tries {
		if at := sandbox.RealPath(try); fileExists(at) && !r.isOpened(at, sandbox.Read) && r.isPossible(at, sandbox.Read) {
			own, _ := r.pathOwner(try)
			if own.By == sandbox.ByServer {
				own.Path = at
			}
			own.Access = sandbox.Read
			return r.finishRefusal(own, at, false), true
		}
	}
	return f, false
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// nearestDirectory returns the directory around a path that is there.
func nearestDirectory(path string) string {
	for !fileExists(path) && filepath.Dir(path) != path {
		path = filepath.Dir(path)
	}
	return path
}

// firstMissing returns a path, or the first on the way to it that is not there.
func firstMissing(path string) string {
	for !fileExists(path) && !fileExists(filepath.Dir(path)) {
		path = filepath.Dir(path)
	}
	return path
}
