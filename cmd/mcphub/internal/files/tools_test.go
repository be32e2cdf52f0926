package files

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"mcphub/rootsmgr/platform"
)

// TestToolNames pins names, argument names and hints: what is known about the
// official server must hold here.
func TestToolNames(t *testing.T) {
	t.Parallel()
	c := connect(t, quiet(folder(t, nil)), nil)
	list, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
	must(t, err)
	want := map[string]string{
		"read_file": "head path tail ro", "read_text_file": "head path tail ro", "read_media_file": "path ro",
		"read_multiple_files": "paths ro", "write_file": "content path destructive idempotent",
		"edit_file": "dryRun edits path destructive", "create_directory": "path idempotent",
		"list_directory": "path ro", "list_directory_with_sizes": "path sortBy ro", "directory_tree": "excludePatterns path ro",
		"move_file": "destination source destructive", "search_files": "excludePatterns path pattern ro",
		"get_file_info": "path ro", "list_allowed_directories": "ro",
	}
	for _, tool := range list.Tools {
		var got []string
		for name := range tool.InputSchema.Properties {
			got = append(got, name)
		}
		slices.Sort(got)
		h := tool.Annotations
		for _, hint := range []struct {
			set  *bool
			name string
		}{{h.ReadOnlyHint, "ro"}, {h.DestructiveHint, "destructive"}, {h.IdempotentHint, "idempotent"}} {
			if hint.set != nil && *hint.set {
				got = append(got, hint.name)
			}
		}
		if s := strings.Join(got, " "); s != want[tool.Name] {
			t.Errorf("%s: %q, want %q", tool.Name, s, want[tool.Name])
		}
		delete(want, tool.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789abcdef\n", 20000) // several blocks of the backward reader
	dir := folder(t, map[string]string{
		"a.txt": "one\ntwo\nthree\n", "open.txt": "one\ntwo", "empty": "", "latin": "gr\xfc\xdfe", "long": long, "nl": "\n\n\n",
		"sub/": "", "über uns#1.txt": "x", "deep/er/f": "deep", "in": "-> a.txt", "abs/": "",
	})
	fill(t, dir, map[string]string{"abs/link": "-> " + filepath.Join(dir, "deep"), "abs/chain": "-> link/er"})
	c := connect(t, quiet(dir), nil)
	for _, tt := range []struct {
		args args
		want string
	}{
		{args{"path": filepath.Join(dir, "a.txt")}, "one\ntwo\nthree\n"},
		{args{"path": "a.txt"}, "one\ntwo\nthree\n"},
		{args{"path": "./sub/../a.txt"}, "one\ntwo\nthree\n"},
		{args{"path": "in"}, "one\ntwo\nthree\n"},
		{args{"path": platform.Host().FormatURI(filepath.Join(dir, "über uns#1.txt"))}, "x"},
		{args{"path": "FILE://LOCALHOST" + dir + "/a.txt", "head": 1}, "one\n"},
		{args{"path": "abs/link/er/f"}, "deep"},
		{args{"path": "abs/chain/f"}, "deep"},
		{args{"path": "a.txt", "head": 2}, "one\ntwo\n"},
		{args{"path": "a.txt", "head": 99}, "one\ntwo\nthree\n"},
		{args{"path": "a.txt", "tail": 2}, "two\nthree\n"},
		{args{"path": "a.txt", "tail": 3}, "one\ntwo\nthree\n"},
		{args{"path": "a.txt", "tail": 99, "head": 0}, "one\ntwo\nthree\n"},
		{args{"path": "open.txt", "tail": 1}, "two"},
		{args{"path": "open.txt", "head": 2, "tail": nil}, "one\ntwo"},
		{args{"path": "nl", "tail": 2}, "\n\n"},
		{args{"path": "empty", "tail": 2}, ""},
		{args{"path": "empty"}, ""},
		{args{"path": "long", "tail": 9000}, long[len(long)-9000*17:]},
		{args{"path": "long", "head": 9000}, long[:9000*17]},
	} {
		wantText(t, c, "read_text_file", tt.args, tt.want)
		wantText(t, c, "read_file", tt.args, tt.want)
	}
	if _, text := ask(t, c, "read_text_file", args{"path": "latin"}); !strings.HasPrefix(text, "gr\uFFFDe\nNote: ") {
		t.Errorf("latin: %q", text)
	}
	wantError(t, c, "read_text_file", args{"path": "none"}, "none", "does not exist")
	wantError(t, c, "read_text_file", args{"path": "sub"}, "list_directory")
	wantError(t, c, "read_text_file", args{"path": "a.txt/x"}, "a.txt/x")
	wantError(t, c, "read_text_file", args{"path": "a\x00"}, "NUL")
	wantError(t, c, "read_text_file", args{"path": "a.txt", "head": 1, "tail": 1}, "not both")
	wantError(t, c, "read_text_file", args{"path": "a.txt", "head": 1.5}, "head")
	wantError(t, c, "read_text_file", args{"path": "a.txt", "Head": 1}, "Head")
	wantError(t, c, "read_text_file", args{}, "path is missing")
	wantError(t, c, "read_text_file", args{"path": "https://example.org/x"}, "does not exist")
}

func TestReadBounds(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"big": "first\n"})
	f, err := os.OpenFile(filepath.Join(dir, "big"), os.O_RDWR, 0)
	must(t, err)
	_, err = f.WriteAt([]byte("\nlast\n"), maxFile+10) // sparse
	must(t, err)
	must(t, f.Close())
	c := connect(t, quiet(dir), nil)
	for _, tool := range []string{"read_text_file", "read_media_file", "edit_file"} {
		a := args{"path": "big"}
		if tool == "edit_file" {
			a["edits"] = []any{args{"oldText": "a", "newText": "b"}}
		}
		wantError(t, c, tool, a, "big", fmt.Sprint(maxFile+16), "head or tail")
	}
	wantText(t, c, "read_text_file", args{"path": "big", "head": 1}, "first\n")
	wantText(t, c, "read_text_file", args{"path": "big", "tail": 1}, "last\n")
	wantError(t, c, "read_text_file", args{"path": "big", "tail": 2}, "ask for fewer")
	wantError(t, c, "read_text_file", args{"path": "big", "head": 2}, "ask for fewer")
	// 12 MiB of NUL become 72 MiB of JSON: over what a line may hold.
	must(t, os.Truncate(filepath.Join(dir, "big"), 12<<20))
	wantError(t, c, "read_text_file", args{"path": "big"}, "Ask for less")
}

func TestReadMany(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a": "A\n", "b": "B"})
	c := connect(t, quiet(dir), nil)
	res, text := ask(t, c, "read_multiple_files", args{"paths": []string{"a", "none", "/etc/passwd", "b"}})
	if res.IsError || len(res.Content) != 4 || !strings.HasPrefix(text, "a:\nA\n\nnone: Error - ") ||
		!strings.Contains(text, "access denied") || !strings.HasSuffix(text, "\nb:\nB") {
		t.Errorf("%v %q", res.IsError, text)
	}
	wantError(t, c, "read_multiple_files", args{"paths": []string{"none"}}, "none: Error")
	wantError(t, c, "read_multiple_files", args{"paths": []string{}}, "paths")
}

func TestReadMedia(t *testing.T) {
	t.Parallel()
	png := "\x89PNG\r\n\x1a\n0000"
	dir := folder(t, map[string]string{"p.png": png, "noext": png, "s.mp3": "ID3", "x y.bin": "\x00\x01"})
	c := connect(t, quiet(dir), nil)
	for name, want := range map[string]mcp.Content{
		"p.png": mcp.NewImageContent(b64(png), "image/png"), "noext": mcp.NewImageContent(b64(png), "image/png"),
		"s.mp3": mcp.NewAudioContent(b64("ID3"), "audio/mpeg"),
		"x y.bin": mcp.NewEmbeddedResource(mcp.BlobResourceContents{
			URI: "file://" + dir + "/x%20y.bin", MIMEType: "application/octet-stream", Blob: b64("\x00\x01")}),
	} {
		res, _ := ask(t, c, "read_media_file", args{"path": name})
		got, _ := json.Marshal(res.Content[0])
		exp, _ := json.Marshal(want)
		if res.IsError || string(got) != string(exp) {
			t.Errorf("%s: %s, want %s", name, got, exp)
		}
	}
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"run.sh": "old", "ro": "keep", "sub/": "", "link": "-> sub/new", "up": "-> sub/../run.sh"})
	must(t, os.Chmod(filepath.Join(dir, "run.sh"), 0o750))
	must(t, os.Chmod(filepath.Join(dir, "ro"), 0o444))
	c := connect(t, quiet(dir), nil)
	res, _ := ask(t, c, "write_file", args{"path": "run.sh", "content": "new"})
	if m := structured(t, res); m["created"] != false || m["bytes"] != 3.0 || content(t, dir, "run.sh") != "new" {
		t.Errorf("%v", m)
	}
	if info, _ := os.Stat(filepath.Join(dir, "run.sh")); info.Mode().Perm() != 0o750 {
		t.Errorf("mode %v", info.Mode())
	}
	res, _ = ask(t, c, "write_file", args{"path": "sub/f", "content": ""})
	if m := structured(t, res); m["created"] != true || content(t, dir, "sub/f") != "" {
		t.Errorf("%v", m)
	}
	// A link stays a link: what it leads to is written, there or not.
	ask(t, c, "write_file", args{"path": "link", "content": "via"})
	ask(t, c, "write_file", args{"path": "up", "content": "via up"})
	if content(t, dir, "sub/new") != "via" || content(t, dir, "run.sh") != "via up" {
		t.Error("links were not followed")
	}
	if _, err := os.Readlink(filepath.Join(dir, "link")); err != nil {
		t.Error("the link was replaced")
	}
	wantError(t, c, "write_file", args{"path": "sub", "content": "x"}, "directory")
	wantError(t, c, "write_file", args{"path": "none/f", "content": "x"}, "create_directory")
	wantError(t, c, "write_file", args{"path": "f"}, "content is missing")
	if os.Getuid() != 0 {
		wantError(t, c, "write_file", args{"path": "ro", "content": "x"}, "not permit")
	}
	noLeftovers(t, dir)
}

func noLeftovers(t *testing.T, dir string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), tempPrefix) {
			t.Errorf("left behind: %s", path)
		}
		return err
	}))
}

func TestEdit(t *testing.T) {
	t.Parallel()
	edits := func(pairs ...string) (out []any) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, args{"oldText": pairs[i], "newText": pairs[i+1]})
		}
		return out
	}
	for _, tt := range []struct {
		name, before string
		edits        []any
		after, says  string
	}{
		{"one", "a\nb\nc\n", edits("b", "B"), "a\nB\nc\n", "-b\n+B\n"},
		{"in order", "x\n", edits("x", "y z", "z", "w"), "y w\n", "+y w\n"},
		{"crlf", "a\r\nb\r\nc\r\n", edits("a\nb\n", "A\nB\n"), "A\r\nB\r\nc\r\n", "+A\r\n"},
		{"no change", "a\n", edits("a", "a"), "a\n", "Nothing changes"},
		{"dollar", "a$1\n", edits("a$1", "$0$$"), "$0$$\n", "+$0$$"},
		{"missing", "a\n", edits("a", "b", "q", "r"), "a\n", "edits[1]: oldText was not found"},
		{"twice", "a a\n", edits("a", "b"), "a a\n", "occurs 2 times"},
		{"empty", "a\n", edits("", "b"), "a\n", "oldText is empty"},
		{"half", "a\n", []any{args{"oldText": "a"}}, "a\n", "both needed"},
		{"none", "a\n", nil, "a\n", "edits is missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := folder(t, map[string]string{"f": tt.before})
			c := connect(t, quiet(dir), nil)
			_, dry := ask(t, c, "edit_file", args{"path": "f", "edits": tt.edits, "dryRun": true})
			if content(t, dir, "f") != tt.before {
				t.Error("a dry run wrote")
			}
			_, text := ask(t, c, "edit_file", args{"path": "f", "edits": tt.edits})
			if text != dry || !strings.Contains(text, tt.says) || content(t, dir, "f") != tt.after {
				t.Errorf("%q (dry %q), file %q", text, dry, content(t, dir, "f"))
			}
		})
	}
}

// TestEditsTogether: edits of one file that run at the same time all stay.
func TestEditsTogether(t *testing.T) {
	t.Parallel()
	var before strings.Builder
	for i := range 50 {
		fmt.Fprintf(&before, "<%d>\n", i)
	}
	dir := folder(t, map[string]string{"f": before.String()})
	p := dial(t, quiet(dir))
	p.send(hello)
	p.next()
	for i := range 50 {
		p.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"edit_file","arguments":{"path":"f","edits":[{"oldText":"<%d>","newText":"done"}]}}}`, i, i)
	}
	for range 50 {
		p.next()
	}
	if got := content(t, dir, "f"); got != strings.Repeat("done\n", 50) {
		t.Errorf("%q", got)
	}
}

func TestDirectories(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"b.txt": "12345", "a/x.go": "", "a/b/y.go": "", "a/b/c/z.txt": "", "l": "-> a", "evil\n[DIR] x": "", "node_modules/m/i.go": ""})
	c := connect(t, quiet(dir), nil)
	wantText(t, c, "list_directory", args{"path": ""}, "[DIR] a\n[FILE] b.txt\n[FILE] \"evil\\n[DIR] x\"\n[LINK] l\n[DIR] node_modules")
	wantError(t, c, "list_directory", args{"path": "b.txt"}, "not a directory")
	wantError(t, c, "list_directory", args{"path": "none"}, "does not exist")
	res, text := ask(t, c, "list_directory_with_sizes", args{"path": dir, "sortBy": "size"})
	if m := structured(t, res); m["totalSize"] != 5.0 || m["files"] != 2.0 || m["directories"] != 2.0 ||
		!strings.HasPrefix(text, "[FILE]         5 B  b.txt\n") || !strings.HasSuffix(text, "Total: 2 files, 2 directories, 5 B") {
		t.Errorf("%q %v", text, m)
	}
	wantError(t, c, "list_directory_with_sizes", args{"path": dir, "sortBy": "date"}, "sortBy")

	_, text = ask(t, c, "directory_tree", args{"path": ".", "excludePatterns": []string{"node_modules", "**/c", "evil*"}})
	var tree any
	must(t, json.Unmarshal([]byte(text), &tree))
	flat, _ := json.Marshal(tree)
	want := `[{"children":[{"children":[{"name":"y.go","type":"file"}],"name":"b","type":"directory"},{"name":"x.go","type":"file"}],"name":"a","type":"directory"},{"name":"b.txt","type":"file"},{"name":"l","type":"link"}]`
	if string(flat) != want {
		t.Errorf("tree %s", flat)
	}

	at := func(names ...string) string {
		for i := range names {
			names[i] = filepath.Join(dir, names[i])
		}
		return strings.Join(names, "\n")
	}
	for _, tt := range []struct {
		path, pattern string
		exclude       []string
		want          string
	}{
		{".", "*.txt", nil, at("b.txt")},
		{".", "**/*.go", nil, at("a/b/y.go", "a/x.go", "node_modules/m/i.go")},
		{".", "**/*.go", []string{"node_modules"}, at("a/b/y.go", "a/x.go")},
		{".", "**/*.{go,txt}", []string{"node_modules/**", "a/b"}, at("a/x.go", "b.txt")},
		{"a", "b/**", nil, at("a/b", "a/b/c", "a/b/c/z.txt", "a/b/y.go")},
		{"l", "*.go", nil, at("a/x.go")},
		{".", "l/**", nil, at("l")},
		{".", "*.rs", nil, "No matches found"},
	} {
		wantText(t, c, "search_files", args{"path": tt.path, "pattern": tt.pattern, "excludePatterns": tt.exclude}, tt.want)
	}
	for _, bad := range []string{"[", "../*", "/etc/*", "", strings.Repeat("{a,b}", 9)} {
		wantError(t, c, "search_files", args{"path": ".", "pattern": bad}, "pattern")
		wantError(t, c, "directory_tree", args{"path": ".", "excludePatterns": []string{bad}}, "pattern")
	}
}

func TestTreeBounds(t *testing.T) {
	t.Parallel()
	dir := folder(t, nil)
	deep := dir
	for range maxDepth + 10 {
		deep = filepath.Join(deep, "d")
	}
	must(t, os.MkdirAll(deep, 0o755))
	must(t, os.Mkdir(filepath.Join(dir, "many"), 0o755))
	for i := range maxNodes {
		f, err := os.Create(filepath.Join(dir, "many", fmt.Sprint(i)))
		must(t, err)
		must(t, f.Close())
	}
	c := connect(t, quiet(dir), nil)
	res, text := ask(t, c, "directory_tree", args{"path": "."})
	if m := structured(t, res); m["truncated"] != true || !strings.Contains(text, "the tree is cut") {
		t.Errorf("not cut: %v", m["truncated"])
	}
	res, _ = ask(t, c, "search_files", args{"path": ".", "pattern": "**"})
	if m := structured(t, res); m["truncated"] != true || len(m["matches"].([]any)) != maxMatches {
		t.Errorf("search: %v matches", len(m["matches"].([]any)))
	}
}

func TestMakeDirectory(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"f": "", "l": "-> new"})
	c := connect(t, quiet(dir), nil)
	for _, made := range []bool{true, false} {
		res, _ := ask(t, c, "create_directory", args{"path": "a/b/c"})
		if structured(t, res)["created"] != made {
			t.Errorf("created %v, want %v", !made, made)
		}
	}
	ask(t, c, "create_directory", args{"path": "l/x"})
	for _, d := range []string{"a/b/c", "new/x"} {
		if info, err := os.Stat(filepath.Join(dir, d)); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", d, err)
		}
	}
	wantError(t, c, "create_directory", args{"path": "f"}, "in the way")
	wantError(t, c, "create_directory", args{"path": "../new"}, "outside")
}

func TestMove(t *testing.T) {
	t.Parallel()
	one := folder(t, map[string]string{"a": "A", "b": "B", "d/f": "F", "l": "-> a", "n/": "", "x": "X"})
	two := folder(t, map[string]string{"taken": "T"})
	must(t, os.Chmod(filepath.Join(one, "x"), 0o640))
	c := connect(t, quiet(one, two, filepath.Join(one, "n")), nil)
	for _, m := range [][2]string{{"a", "d/a"}, {"d", "e"}, {"l", "l2"}, {"x", filepath.Join(two, "x")}} {
		if res, text := ask(t, c, "move_file", args{"source": m[0], "destination": m[1]}); res.IsError {
			t.Errorf("%v: %s", m, text)
		}
		if _, err := os.Lstat(filepath.Join(one, m[0])); err == nil {
			t.Errorf("%s is still there", m[0])
		}
	}
	if content(t, one, "e/a") != "A" || content(t, one, "e/f") != "F" || content(t, two, "x") != "X" {
		t.Error("content")
	}
	if to, _ := os.Readlink(filepath.Join(one, "l2")); to != "a" {
		t.Errorf("the link itself was not moved: %q", to)
	}
	if info, _ := os.Stat(filepath.Join(two, "x")); info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", info.Mode())
	}
	for _, tt := range []struct{ from, to, says string }{
		{"b", filepath.Join(two, "taken"), "already"}, {"b", "e", "already"}, {"none", "q", "does not exist"},
		{"b", "no/q", "create_directory"}, {"e", filepath.Join(two, "e"), "only a file"},
		{"n", "m", "allowed directory"}, {".", "m", "allowed directory"}, {"b", "/tmp/b", "outside"}, {"/etc/passwd", "b2", "outside"},
		{"e", "e/in", ""},
	} {
		wantError(t, c, "move_file", args{"source": tt.from, "destination": tt.to}, tt.says)
	}
	if content(t, one, "b") != "B" || content(t, two, "taken") != "T" {
		t.Error("a refused move changed something")
	}
	noLeftovers(t, one)
	noLeftovers(t, two)
}

func TestInfo(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"f": "123", "d/": "", "l": "-> f"})
	c := connect(t, quiet(dir), nil)
	res, text := ask(t, c, "get_file_info", args{"path": "l"})
	m := structured(t, res)
	if m["path"] != filepath.Join(dir, "f") || m["size"] != 3.0 || m["type"] != "file" || m["isLink"] != true || m["permissions"] != "644" {
		t.Errorf("%v", m)
	}
	if !strings.Contains(text, "isFile: true") {
		t.Error(text)
	}
	res, _ = ask(t, c, "get_file_info", args{"path": "d"})
	if m := structured(t, res); m["isDirectory"] != true || m["isLink"] != false {
		t.Errorf("%v", m)
	}
	wantError(t, c, "get_file_info", args{"path": "none"}, "does not exist")
}

func TestPipesAreNotOpened(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no named pipes in folders")
	}
	dir := folder(t, nil)
	mkfifo(t, filepath.Join(dir, "pipe"))
	c := connect(t, quiet(dir), nil)
	for _, tool := range []string{"read_text_file", "read_media_file"} {
		wantError(t, c, tool, args{"path": "pipe"}, "no regular file")
	}
	wantError(t, c, "write_file", args{"path": "pipe", "content": ""}, "no regular file")
	wantText(t, c, "list_directory", args{"path": "."}, "[OTHER] pipe")
}

// TestOutputSchemas holds every structuredContent against the schema that its
// tool declares, closed: a member that is not declared fails.
func TestOutputSchemas(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"f": "a\n", "d/g": ""})
	c := connect(t, quiet(dir, filepath.Join(dir, "missing")), nil)
	calls := map[string]args{
		"write_file":     {"path": "w", "content": "x"},
		"edit_file":      {"path": "f", "edits": []any{args{"oldText": "a", "newText": "b"}}},
		"list_directory": {"path": "."}, "list_directory_with_sizes": {"path": "."}, "directory_tree": {"path": "."},
		"create_directory": {"path": "n"}, "move_file": {"source": "w", "destination": "w2"},
		"search_files": {"path": ".", "pattern": "**"}, "get_file_info": {"path": "f"}, "list_allowed_directories": {},
	}
	for _, tl := range tools {
		if tl.out == "" {
			continue
		}
		a, ok := calls[tl.name]
		if !ok {
			t.Errorf("%s is not called", tl.name)
			continue
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(`{"type":"object","additionalProperties":false,"properties":{` + tl.out + `}}`))
		must(t, err)
		comp := jsonschema.NewCompiler()
		must(t, comp.AddResource("mem:out", doc))
		sch, err := comp.Compile("mem:out")
		must(t, err)
		res, text := ask(t, c, tl.name, a)
		if res.IsError {
			t.Errorf("%s: %s", tl.name, text)
			continue
		}
		if err := sch.Validate(res.StructuredContent); err != nil {
			t.Errorf("%s: %v", tl.name, err)
		}
	}
}
