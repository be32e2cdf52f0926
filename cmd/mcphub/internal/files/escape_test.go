package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/e2e/needs"
	"mcphub/rootsmgr/platform"
)

const secret = "the secret"

// grounds returns an allowed directory, and one beside it that is not.
func grounds(t *testing.T) (in, out string) {
	base := folder(t, map[string]string{"in/": "", "in-sibling/s": secret, "out/s": secret, "out/d/s": secret})
	in, out = filepath.Join(base, "in"), filepath.Join(base, "out")
	fill(t, in, map[string]string{
		"ok": "fine", "d/ok": "fine", "rel": "-> ../out/s", "abs": "-> " + out + "/s", "dir": "-> ../out", "absdir": "-> " + out,
		"chain": "-> hop", "hop": "-> dir/s", "d/up": "-> ../../out/s", "mixed": "-> " + in + "/../out/s", "via": "-> d/../../out/s",
		"proc": "-> /proc/self/root" + out + "/s", "dangling": "-> ../out/new", "absdangling": "-> " + out + "/new", "loop": "-> loop2", "loop2": "-> loop",
		"back": "-> ../in/ok", "absback": "-> " + in + "/d/../ok",
	})
	return in, out
}

func TestEscapes(t *testing.T) {
	t.Parallel()
	in, out := grounds(t)
	c := connect(t, quiet(in), nil)
	for _, path := range []string{
		"rel", "abs", "dir/s", "absdir/s", "absdir/d/s", "chain", "d/up", "mixed", "via", "proc", "d/../../out/s",
		"../out/s", "../in-sibling/s", out + "/s", in + "-sibling/s", in + "/../out/s", "file://" + out + "/s", "FILE:" + out + "/s",
		"file://" + in + "/../out/s", "file://" + in + "/%2e%2e/out/s", "file://" + in + "/%2E./out/s", "file://localhost" + out + "/s",
	} {
		if plain, err := plainly(t, in, path); plain != secret && !(path == "proc" && err != nil) {
			t.Errorf("control: %s does not reach the secret: the attack is not one", path)
		}
		for _, tool := range []string{"read_text_file", "read_file", "read_media_file", "get_file_info"} {
			wantError(t, c, tool, args{"path": path}, "access denied")
		}
		wantError(t, c, "write_file", args{"path": path, "content": "overwritten"}, "access denied")
		wantError(t, c, "edit_file", args{"path": path, "edits": []any{args{"oldText": secret, "newText": "x"}}}, "access denied")
		wantError(t, c, "read_multiple_files", args{"paths": []string{path}}, "access denied")
	}
	for _, path := range []string{"dir", "absdir", "dir/d", "..", "/", out} {
		for _, tool := range []string{"list_directory", "list_directory_with_sizes", "directory_tree", "search_files"} {
			a := args{"path": path}
			if tool == "search_files" {
				a["pattern"] = "**"
			}
			wantError(t, c, tool, a, "access denied")
		}
	}
	for _, path := range []string{"dangling", "absdangling", "dir/new", "absdir/new", "../out/new"} {
		wantError(t, c, "write_file", args{"path": path, "content": "x"}, "access denied")
		wantError(t, c, "create_directory", args{"path": path}, "access denied")
	}
	wantError(t, c, "create_directory", args{"path": "dir/a/b"}, "access denied")
	wantError(t, c, "move_file", args{"source": "ok", "destination": "dir/ok"}, "access denied")
	wantError(t, c, "move_file", args{"source": "dir/s", "destination": "got"}, "access denied")
	wantError(t, c, "read_text_file", args{"path": "loop"}, "links")
	for _, honest := range []string{"back", "absback", "ok", "d/ok", "file://" + in + "/ok"} {
		wantText(t, c, "read_text_file", args{"path": honest}, "fine")
	}
	// ".." in an argument is taken lexically, whatever the kernel would do.
	if plain, _ := plainly(t, in, "dir/../out/s"); plain != secret {
		t.Error("control: dir/../out/s")
	}
	wantError(t, c, "read_text_file", args{"path": "dir/../out/s"}, "does not exist")
	untouched(t, out)
	// Searching and showing trees goes through no link at all.
	if _, text := ask(t, c, "search_files", args{"path": ".", "pattern": "**/s"}); text != "No matches found" {
		t.Errorf("search: %s", text)
	}
}

// plainly reads path as a server without a guard would.
func plainly(t *testing.T, in, path string) (string, error) {
	t.Helper()
	if platform.IsFileURI(path) {
		p, err := pathFromURI(path)
		must(t, err)
		path = p
	}
	if !filepath.IsAbs(path) {
		path = in + "/" + path
	}
	data, err := os.ReadFile(path)
	return string(data), err
}

func untouched(t *testing.T, out string) {
	t.Helper()
	var names []string
	must(t, filepath.WalkDir(out, func(p string, d fs.DirEntry, err error) error {
		names = append(names, strings.TrimPrefix(p, out))
		return err
	}))
	if got := strings.Join(names, " "); got != " /d /d/s /s" || content(t, out, "s") != secret || content(t, out, "d/s") != secret {
		t.Errorf("outside was touched: %s", got)
	}
}

// TestRootReplaced: what stands instead of an allowed directory later.
func TestRootReplaced(t *testing.T) {
	t.Parallel()
	in, out := grounds(t)
	sub := filepath.Join(in, "sub")
	for _, dirs := range [][]string{{in, sub}, {sub, in}} {
		// sub is allowed too. It lies in a directory that the attacker may write to.
		must(t, os.RemoveAll(sub))
		fill(t, in, map[string]string{"sub/s": "fine"})
		c := connect(t, quiet(dirs...), nil)
		read := args{"path": filepath.Join(sub, "s")}
		wantText(t, c, "read_text_file", read, "fine")
		must(t, os.RemoveAll(sub))
		needs.Link(t, out, sub)
		if content(t, sub, "s") != secret {
			t.Error("control: the link does not lead to the secret")
		}
		wantError(t, c, "read_text_file", read, "access denied")
		must(t, os.Remove(sub))
	}

	// The whole directory: another real one is it, a link elsewhere is not.
	c := connect(t, quiet(in), nil)
	must(t, os.Rename(in, in+".old"))
	wantError(t, c, "read_text_file", args{"path": "ok"}, "cannot be opened")
	fill(t, in, map[string]string{"ok": "new"})
	wantText(t, c, "read_text_file", args{"path": "ok"}, "new")
	must(t, os.RemoveAll(in))
	needs.Link(t, out, in)
	wantError(t, c, "read_text_file", args{"path": "s"}, "replaced")
}

// TestSwapAfterResolve is the race between the check and the open, won every time: everything that is
// done at a place is done after the place was swapped.
func TestSwapAfterResolve(t *testing.T) {
	t.Parallel()
	for name, link := range map[string]string{"relative": "../out", "absolute": "OUT"} {
		t.Run(name, func(t *testing.T) {
			in, out := grounds(t)
			fill(t, in, map[string]string{"x/s": "fine", "f": "fine"})
			if link == "OUT" {
				link = out
			}
			b := newBounds("", []asked{{raw: in}})
			c := &call{ctx: t.Context(), reach: &reach{bounds: b}}
			defer c.closeTrees()
			inDir, err := c.resolvePath("x/s", true)
			must(t, err)
			missing, err := c.resolvePath("x/new", true)
			must(t, err)
			file, err := c.resolvePath("f", true)
			must(t, err)
			dir, err := c.resolvePath("x", true)
			must(t, err)
			must(t, os.RemoveAll(filepath.Join(in, "x")))
			needs.Link(t, link, filepath.Join(in, "x"))
			must(t, os.Remove(filepath.Join(in, "f")))
			needs.Link(t, filepath.Join(link, "s"), filepath.Join(in, "f"))
			for _, p := range []place{inDir, file} {
				if content(t, p.placePath()) != secret {
					t.Fatal("control: the path does not lead to the secret by now")
				}
				if f, _, err := p.openFile(); err == nil {
					f.Close()
					t.Errorf("%s: opened outside", p.rel)
				}
			}
			if root, err := dir.openDir(); err == nil {
				root.Close()
				t.Error("a directory outside was opened")
			}
			for _, p := range []place{inDir, missing} {
				if err := c.replaceFile(p, strings.NewReader("x"), nil); err == nil {
					t.Errorf("%s: written outside", p.rel)
				}
				if err := c.moveFile(file, p); err == nil {
					t.Errorf("%s: moved outside", p.rel)
				}
				if err := c.moveFile(p, place{tree: p.tree, root: p.root, rel: "got"}); err == nil {
					t.Errorf("%s: moved in from outside", p.rel)
				}
			}
			if err := missing.root.MkdirAll(missing.rel, 0o777); err == nil {
				t.Error("directory made outside")
			}
			// A link instead of the file is replaced; what it leads to is not.
			must(t, c.replaceFile(file, strings.NewReader("mine"), nil))
			if content(t, in, "f") != "mine" {
				t.Error("the link was not replaced")
			}
			untouched(t, out)
		})
	}
}

// TestChangedMeanwhile: what becomes of a file between the look and the deed.
func TestChangedMeanwhile(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"f": "fine", "g": "fine"})
	c := &call{ctx: t.Context(), reach: &reach{bounds: newBounds("", []asked{{raw: dir}})}}
	defer c.closeTrees()
	f, err := c.resolvePath("f", true)
	must(t, err)
	must(t, c.checkUnchanged(f, f.info))
	must(t, os.WriteFile(f.placePath(), []byte("other"), 0o644))
	if c.checkUnchanged(f, f.info) == nil {
		t.Error("an edit would have undone what somebody else wrote")
	}
	g, err := c.resolvePath("g", true)
	must(t, err)
	must(t, os.Remove(g.placePath()))
	mkfifo(t, g.placePath()) // opening it would wait for a writer
	if file, _, err := g.openFile(); err == nil {
		file.Close()
		t.Error("a named pipe was opened as a file")
	}
}
