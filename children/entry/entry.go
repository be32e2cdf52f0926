package entry

import (
	"encoding/json"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mcphub/internal/commandline"
	"mcphub/internal/lazyregexp"
)

// A Use describes what a server does with a path. The zero Use is the narrowest.
type Use uint8

const (
	Code   Use = iota // it is run, sourced, or searched for code
	Config            // it reports where code or configuration lies, or is read as such
	Cwd               // the program works there
	Data              // anything else
)

// A Name is a path that an entry names.
type Name struct {
	Key    string // where it stands: a JSON pointer in the entry
	Path   string // absolute and clean
	Use    Use
	Folder bool // it is a folder, as far as the words around it tell
	Text   bool // it is a word of what a shell runs
}

// An Entry is what hub.json says about a program.
type Entry struct {
	Command string
	Args    []string
	Env     map[string]string
	Cwd     string // absolute; "": what the session gives
	Home    string
	Void    func(arg int) bool // an argument is replaced, so that it names nothing; nil: none is
}

// maxNames bounds how many paths one entry names, and maxNested texts within texts.
const (
	maxNames  = 256
	maxNested = 4
)

// Names returns the paths that an entry names, in its order: the command, the arguments,
// the variables by name, the working directory.
func Names(e *Entry) []Name {
	r := reader{Entry: e}
	at := place{dir: e.Cwd}
	if commandline.IsFilledLater(e.Cwd) {
		at.dir = ""
	}
	r.readWord(at, "/command", e.Command)
	args := slices.Clone(e.Args)
	for i := range args {
		if e.Void != nil && e.Void(i) {
			args[i] = ""
		}
	}
	r.readLine(at, e.Command, args, func(i int) string { return "/args/" + strconv.Itoa(i) })
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		r.readVariable(at, "/env/"+escapeName(name), name, e.Env[name])
	}
	if at.dir != "" {
		r.addName(Name{"/cwd", at.dir, Cwd, true, false})
	}
	return r.names
}

func escapeName(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

type reader struct {
	*Entry
	names []Name
}

// place is where a text is read.
type place struct {
	dir    string // relative paths begin there; "": no one knows
	nested int    // in how many texts
}

func (r *reader) addName(n Name) {
	if len(r.names) < maxNames && !slices.Contains(r.names, n) {
		r.names = append(r.names, n)
	}
}

// absolutePath returns a text as an absolute path; "" if it is none. plain: a word without
// a separator may be one.
func (r *reader) absolutePath(at place, text string, plain bool) string {
	switch {
	case text == "" || strings.ContainsAny(text, "\n\r\x00") || commandline.IsFilledLater(text) || len(text) > 4096:
		return ""
	case text == "~" && r.Home != "":
		return r.Home
	case strings.HasPrefix(text, "~/") && r.Home != "":
		return filepath.Join(r.Home, text[2:])
	case strings.HasPrefix(text, "//"): // the rest of an address, or a comment
		return ""
	case filepath.IsAbs(text):
		return filepath.Clean(text)
	case at.dir == "" || strings.Contains(text, "://") || strings.HasPrefix(text, "-") || strings.HasPrefix(text, "@") || strings.ContainsAny(text, "$*?{}<>|;&"):
		return ""
	case strings.ContainsRune(text, filepath.Separator) || text == "." || text == ".." || plain:
		return filepath.Join(at.dir, text)
	}
	return ""
}

// file matches a word that looks like the name of a file.
var file = lazyregexp.New(`^[\pL\pN_. -]+\.[A-Za-z][A-Za-z0-9]{0,9}$`)

// readValue names what the value of a flag or variable is, or a word by itself. name is the
// name of the flag or variable; "" for none.
func (r *reader) readValue(at place, key, name, text string, use Use) {
	folder := strings.HasSuffix(text, "/") || isFolder(name)
	named := func(text string) bool {
		path := r.absolutePath(at, text, file.MatchString(text))
		if path != "" {
			r.addName(Name{key, path, use, folder, at.nested > 0})
		}
		return path != ""
	}
	if path, ok := ofURL(text); ok {
		named(path)
		return
	}
	if parts := splitList(text); len(parts) > 1 {
		for _, part := range parts {
			named(part)
		}
		return
	}
	if _, value, ok := strings.Cut(text, "="); ok && !strings.Contains(text[:len(text)-len(value)], "/") {
		r.readValue(at, key, text[:len(text)-len(value)-1], value, min(use, useOf(text[:len(text)-len(value)-1])))
		return
	}
	named(text)
}

// ofURL returns the path of an address that names a file.
func ofURL(text string) (path string, ok bool) {
	scheme, rest, ok := strings.Cut(text, ":")
	switch scheme = strings.ToLower(scheme); {
	case !ok:
		return "", false
	case scheme == "jdbc":
		return ofURL(rest)
	case scheme != "file" && scheme != "sqlite" && scheme != "sqlite3" && scheme != "duckdb" && scheme != "libsql":
		return "", false
	}
	rest, _, _ = strings.Cut(rest, "?")
	if host, at, is := strings.Cut(strings.TrimPrefix(rest, "//"), "/"); is && strings.HasPrefix(rest, "//") {
		if host != "" && host != "localhost" && host != "." && host != "~" {
			return "", true
		}
		if rest = "/" + strings.TrimLeft(at, "/"); host == "." || host == "~" {
			rest = host + rest
		}
	}
	if plain, err := url.PathUnescape(rest); err == nil {
		rest = plain
	}
	return rest, true
}

// splitList splits a text that joins paths: by the separator of PATH, by commas or semicolons,
// or as a list of JSON. It is one text where not every part is a path from the top or from
// home.
func splitList(text string) []string {
	var parts []string
	if strings.HasPrefix(text, "[") && json.Unmarshal([]byte(text), &parts) == nil {
		return append(parts, "")
	}
	for _, sep := range []string{string(filepath.ListSeparator), ",", ";"} {
		parts = strings.Split(text, sep)
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		if len(parts) > 1 && !slices.ContainsFunc(parts, func(p string) bool { return p != "" && !filepath.IsAbs(p) && !strings.HasPrefix(p, "~/") }) {
			return parts
		}
	}
	return nil
}

// readWord names what a command is, if it is a path.
func (r *reader) readWord(at place, key, command string) {
	if path := r.absolutePath(at, command, false); path != "" {
		r.addName(Name{key, path, Code, false, at.nested > 0})
	}
}

// readLine names what a command line does. key tells the place of an argument.
func (r *reader) readLine(at place, command string, args []string, key func(int) string) {
	roles := commandline.ArgumentRoles(command, args)
	flag := ""
	for i, arg := range args {
		name := flag
		flag = ""
		switch roles[i] {
		case commandline.Void:
		case commandline.Text:
			r.readShell(at, key(i), arg)
		case commandline.Sets:
			if name, value, ok := strings.Cut(arg, "="); ok {
				r.readVariable(at, key(i), name, value)
			}
		case commandline.Runs, commandline.Search:
			if before, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(before, "-") {
				arg = value
			} else if len(arg) > 2 && arg[0] == '-' && arg[1] != '-' {
				arg = arg[2:]
			}
			parts := []string{arg}
			if roles[i] == commandline.Search {
				parts = filepath.SplitList(arg)
			}
			for _, part := range parts {
				r.readValue(at, key(i), "", part, Code)
			}
		default:
			flag = r.readArgument(at, key(i), name, arg)
		}
	}
}

// readArgument names what an argument of the server is. flag is the one before it, if that may take
// a value, and next this one, likewise.
func (r *reader) readArgument(at place, key, flag, arg string) (next string) {
	switch before, value, joined := strings.Cut(arg, "="); {
	case !strings.HasPrefix(arg, "-") || arg == "-":
		r.readValue(at, key, flag, arg, useOf(flag))
	case joined:
		r.readValue(at, key, before, value, useOf(before))
	case len(arg) > 2 && arg[1] != '-' && (arg[2] == '/' || strings.HasPrefix(arg[2:], "~/")): // -d/path
		r.readValue(at, key, arg[:2], arg[2:], useOf(arg[:2]))
	default:
		return arg
	}
	return ""
}

// readVariable names what the value of a variable is.
func (r *reader) readVariable(at place, key, name, value string) {
	switch use := useOf(name); {
	case name == "NODE_OPTIONS":
		words := strings.Fields(value)
		r.readLine(at, "node", words, func(int) string { return key })
	case slices.Contains(commands, name):
		at.dir = ""
		r.readShell(at, key, value)
	case slices.Contains(searched, name):
		for _, part := range filepath.SplitList(value) {
			r.readValue(at, key, "", part, Code)
		}
	default:
		r.readValue(at, key, name, value, use)
	}
}
