package servers

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcphub/e2e/world"
)

// This file lays out what the entries speak of: databases, repositories, and installations as their managers leave them.

// database makes a database of SQLite, after these settings.
func (d *desk) database(path string, settings ...string) {
	d.T.Helper()
	world.Must(d.T, os.MkdirAll(filepath.Dir(d.plain.Replace(path)), 0o755)) //nolint:gosec // as the folders of a home are
	const script = `
const { DatabaseSync } = require('node:sqlite')
const db = new DatabaseSync(process.argv[1])
for (const s of process.argv.slice(2)) db.prepare(s).all()
db.exec("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO users VALUES (1, 'ada'), (2, 'bob')")
db.close()`
	d.run("{dir}", "{node}", append([]string{"-e", script, path}, settings...)...)
}

// repository makes a repository of git of what a folder holds, with a change that waits in a.txt.
func (d *desk) repository(dir string) {
	d.T.Helper()
	at := d.plain.Replace(dir)
	world.Must(d.T, os.MkdirAll(at, 0o755)) //nolint:gosec // as above
	world.Must(d.T, os.WriteFile(filepath.Join(d.Home, ".gitconfig"), []byte("[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n"), 0o600))
	world.Must(d.T, os.WriteFile(filepath.Join(at, "a.txt"), []byte("alpha\n"), 0o644)) //nolint:gosec // as above
	d.run(dir, "git", "init", "-q")
	d.run(dir, "git", "add", ".")
	d.run(dir, "git", "commit", "-q", "-m", "begin")
	d.run(dir, "sh", "-c", "echo more >> a.txt")
}

// uvTool lays out what uv tool install leaves: a virtual environment, and a link to its program in ~/.local/bin.
func (d *desk) uvTool(name, server string) {
	d.T.Helper()
	venv := "{home}/.local/share/uv/tools/" + name
	world.Must(d.T, os.MkdirAll(d.plain.Replace(filepath.Dir(venv)), 0o755)) //nolint:gosec // as above
	d.run("{dir}", "/usr/bin/python3", "-m", "venv", "--without-pip", venv)
	packages, err := filepath.Glob(d.plain.Replace(venv + "/lib/python3*/site-packages"))
	world.Must(d.T, err)
	module := strings.ReplaceAll(name, "-", "_")
	d.copyTo(filepath.Join("testdata", "everyday", server), filepath.Join(packages[0], module+".py"))
	d.copyTo(filepath.Join("testdata", "everyday", "wire.py"), filepath.Join(packages[0], "wire.py"))
	script := "#!" + d.plain.Replace(venv) + "/bin/python\nimport " + module + "\n"
	if server == "keep.py" {
		script += module + ".main()\n"
	}
	world.Must(d.T, os.WriteFile(d.plain.Replace(venv+"/bin/"+name), []byte(script), 0o755)) //nolint:gosec // a program
	d.link(venv+"/bin/"+name, "{home}/.local/bin/"+name)
}

// python lays out an installation of the Python of this system in another place.
func (d *desk) python(prefix string) {
	d.T.Helper()
	prefix = d.plain.Replace(prefix)
	program, err := filepath.EvalSymlinks("/usr/bin/python3")
	world.Must(d.T, err)
	version := filepath.Base(program) // python3.11
	d.copyTo(program, filepath.Join(prefix, "bin", version))
	world.Symlink(d.T, version, filepath.Join(prefix, "bin", "python3"))
	world.Symlink(d.T, version, filepath.Join(prefix, "bin", "python"))
	left := []string{"test", "idlelib", "tkinter", "ensurepip", "lib2to3", "pydoc_data", "__pycache__", "dist-packages"}
	d.tree(filepath.Join("/usr/lib", version), filepath.Join(prefix, "lib", version), func(name string) bool {
		return slices.Contains(left, name) || strings.HasPrefix(name, "config-")
	})
}

// nodeAt lays out an installation of Node.
func (d *desk) nodeAt(prefix string) {
	d.T.Helper()
	d.copyTo(world.NPM.Program, filepath.Join(d.plain.Replace(prefix), "bin", "node"))
}

// globally lays out what npm install -g leaves below a prefix.
func (d *desk) globally(prefix, modules, pkg, program string) {
	d.T.Helper()
	to := d.plain.Replace(prefix + "/lib/node_modules")
	from := d.plain.Replace(modules)
	d.tree(filepath.Join(from, pkg), filepath.Join(to, pkg), nil)
	own := filepath.Join(to, pkg, "node_modules")
	for _, other := range closure(d, from, pkg) {
		if _, err := os.Stat(filepath.Join(own, other)); other != pkg && err != nil {
			d.tree(filepath.Join(from, other), filepath.Join(own, other), nil)
		}
	}
	d.binary(to, pkg, program, d.plain.Replace(prefix+"/bin"))
}

// modules lays out a node_modules with these packages, and the program of the first in it.
func (d *desk) modules(to, modules, program string, pkgs ...string) {
	d.T.Helper()
	to = d.plain.Replace(to)
	from := d.plain.Replace(modules)
	for _, pkg := range pkgs {
		for _, other := range closure(d, from, pkg) {
			if _, err := os.Stat(filepath.Join(to, other)); err != nil {
				d.tree(filepath.Join(from, other), filepath.Join(to, other), nil)
			}
		}
	}
	d.binary(to, pkgs[0], program, filepath.Join(to, ".bin"))
}

// binary links a program of a package, as npm does.
func (d *desk) binary(modules, pkg, program, bin string) {
	d.T.Helper()
	text, err := os.ReadFile(filepath.Join(modules, pkg, "package.json"))
	world.Must(d.T, err)
	var about struct{ Bin json.RawMessage }
	world.Must(d.T, json.Unmarshal(text, &about))
	var file string
	if json.Unmarshal(about.Bin, &file) != nil {
		var all map[string]string
		world.Must(d.T, json.Unmarshal(about.Bin, &all))
		file = all[program]
	}
	target, err := filepath.Rel(bin, filepath.Join(modules, pkg, file))
	world.Must(d.T, err)
	world.Must(d.T, os.MkdirAll(bin, 0o755)) //nolint:gosec // as above
	world.Symlink(d.T, target, filepath.Join(bin, program))
}

// closure returns a package and the ones that it depends on, as far as they lie beside it.
func closure(d *desk, modules, pkg string, seen ...string) []string {
	text, err := os.ReadFile(filepath.Join(modules, pkg, "package.json"))
	if errors.Is(err, fs.ErrNotExist) || slices.Contains(seen, pkg) {
		return seen
	}
	world.Must(d.T, err)
	var about struct{ Dependencies map[string]string }
	world.Must(d.T, json.Unmarshal(text, &about))
	seen = append(seen, pkg)
	for _, other := range world.Names(about.Dependencies) {
		seen = closure(d, modules, other, seen...)
	}
	return seen
}

// tree puts a folder somewhere else.
func (d *desk) tree(from, to string, left func(name string) bool) {
	d.T.Helper()
	world.Must(d.T, filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if left != nil && left(e.Name()) {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch target := filepath.Join(to, rel); {
		case e.IsDir():
			return os.MkdirAll(target, 0o755) //nolint:gosec // as above
		case e.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		default:
			d.copyTo(path, target)
			return nil
		}
	}))
}

// copyTo puts a file somewhere else. None of these tests changes one, so it may be the very same.
func (d *desk) copyTo(from, to string) {
	d.T.Helper()
	world.Must(d.T, os.MkdirAll(filepath.Dir(to), 0o755)) //nolint:gosec // as above
	if os.Link(from, to) == nil {
		return
	}
	text, err := os.ReadFile(from)
	world.Must(d.T, err)
	fi, err := os.Stat(from)
	world.Must(d.T, err)
	world.Must(d.T, os.WriteFile(to, text, fi.Mode().Perm()))
}

// prebuilt gives a program that some entries need, which is built once for all tests.
func prebuilt(t testing.TB, name string) string {
	t.Helper()
	prebuilding.Lock()
	defer prebuilding.Unlock()
	path := filepath.Join(world.Bin.Dir, name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	var lines [][]string
	switch classes := filepath.Join(world.Bin.Dir, "classes"); name {
	case "notes.jar":
		lines = [][]string{{"javac", "-d", classes, filepath.Join("testdata", "everyday", "Keep.java")},
			{"jar", "--create", "--file", path, "--main-class", "Keep", "-C", classes, "."}}
	case "go-memory":
		lines = [][]string{{"go", "build", "-o", path, "github.com/modelcontextprotocol/go-sdk/examples/server/memory"}}
	case "gopls":
		lines = [][]string{{"install", world.Gopls(t), path}}
	}
	for _, line := range lines {
		if said, err := exec.Command(line[0], line[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", line, err, said)
		}
	}
	return path
}

var prebuilding sync.Mutex

// excelBook returns a book of one empty sheet.
func excelBook(d *desk) string {
	d.T.Helper()
	path := d.Path("book.xlsx")
	f, err := os.Create(path)
	world.Must(d.T, err)
	z := zip.NewWriter(f)
	const kind, main = "http://schemas.openxmlformats.org/", `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>`
	for _, file := range [][2]string{
		{"[Content_Types].xml", main + `<Types xmlns="` + kind + `package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>` +
			`<Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>`},
		{"_rels/.rels", main + `<Relationships xmlns="` + kind + `package/2006/relationships"><Relationship Id="rId1" Type="` + kind + `officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
		{"xl/workbook.xml", main + `<workbook xmlns="` + kind + `spreadsheetml/2006/main" xmlns:r="` + kind + `officeDocument/2006/relationships"><sheets><sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>`},
		{"xl/_rels/workbook.xml.rels", main + `<Relationships xmlns="` + kind + `package/2006/relationships"><Relationship Id="rId1" Type="` + kind + `officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`},
		{"xl/worksheets/sheet1.xml", main + `<worksheet xmlns="` + kind + `spreadsheetml/2006/main"><dimension ref="A1"/><sheetData/></worksheet>`},
	} {
		to, err := z.Create(file[0])
		world.Must(d.T, err)
		_, err = to.Write([]byte(file[1]))
		world.Must(d.T, err)
	}
	world.Must(d.T, errors.Join(z.Close(), f.Close()))
	return path
}
