package learn

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mcphub/children/sandbox"
)

// TestRecord: what a run that the kernel held would have opened, as a person is asked about it.
func TestRecord(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files       []string
		read, write []string // paths of the home folder; "made" and "folder" are marks behind one
		names       []string // of the program
		want        string
	}{
		"a folder that is read":            {[]string{"vault/a.md"}, []string{"vault"}, nil, nil, "reads ~/vault"},
		"a file that is written":           {[]string{"shop.db"}, nil, []string{"shop.db"}, nil, "writes ~/shop.db and beside it"},
		"one with siblings":                {[]string{"shop.db"}, nil, []string{"shop.db", "shop.db-journal made", ".shop.db.swp made"}, nil, "writes ~/shop.db and beside it"},
		"one that is not there yet":        {nil, nil, []string{"shop.db made"}, nil, "writes ~/shop.db and beside it"},
		"what the entry names":             {nil, nil, []string{"named.json.tmp made"}, nil, "writes ~/named.json and beside it"},
		"a new state folder":               {nil, nil, []string{".tool folder"}, nil, "keeps state in ~/.tool"},
		"one that was there":               {[]string{".tool/x"}, nil, []string{".tool/x"}, nil, "keeps state in ~/.tool"},
		"a new one of its own name":        {nil, nil, []string{".config/tool folder"}, []string{"tool"}, "keeps state in ~/.config/tool"},
		"one of its own name with a token": {[]string{".config/tool/token"}, []string{".config/tool/token"}, nil, []string{"tool"}, "keeps state in ~/.config/tool"},
		"a token of another program":       {[]string{".config/other/token", ".other/token.json"}, []string{".config/other/token", ".other/token.json"}, nil, nil, ""},
		"keys":                             {[]string{".ssh/id_rsa", ".aws/credentials", ".netrc"}, []string{".ssh/id_rsa", ".aws/credentials", ".netrc", ".ssh"}, []string{".ssh/new made"}, nil, ""},
		"keys of its own name":             {[]string{".ssh/id_rsa", ".config/gh/hosts.yml"}, []string{".ssh/id_rsa"}, []string{".config/gh/hosts.yml", ".aws folder"}, []string{"ssh", "gh", "aws"}, ""},
		"what shells load":                 {[]string{".bashrc"}, nil, []string{".bashrc", ".profile made", ".config/fish folder"}, nil, ""},
		"the home folder":                  {[]string{"x"}, []string{"."}, []string{"."}, nil, ""},
		"folders of many programs":         {[]string{".config/a/x", "Documents/x"}, []string{".config"}, []string{".config", "Documents"}, nil, ""},
		"another server's":                 {[]string{"others/x"}, []string{"others/x"}, []string{"others/y made"}, nil, ""},
		"more than a person can read":      {several("many/a", 7), nil, many9(), nil, "writes " + strings.Join(shown8(), ", ")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := []string{"home/.keep"}
			for _, file := range c.files {
				files = append(files, "home/"+file)
			}
			d := newDisk(t, files...)
			f := Facts{Home: d.home, Names: c.names, Named: []string{filepath.Join(d.home, "named.json")}, Others: []string{filepath.Join(d.home, "others")}}
			for i, list := range [][]string{c.read, c.write} {
				for _, text := range list {
					u := d.use("home/"+text, []sandbox.Access{sandbox.Read, sandbox.Write}[i])
					u.Path = filepath.Clean(u.Path)
					u.Folder = strings.HasSuffix(text, " folder")
					u.Made = u.Made || u.Folder
					f.Uses = append(f.Uses, u)
				}
			}
			r := Record(f)
			short := func(path string) string { return strings.Replace(path, d.home, "~", 1) }
			lines := Lines(r.Shown, short)
			for _, line := range Lines(r.Own, short) {
				lines = append(lines, "own: "+line)
			}
			if got := filepath.ToSlash(strings.Join(lines, "; ")); got != c.want {
				t.Errorf("%q, want %q; left: %v", got, c.want, r.Left)
			}
		})
	}
}

func many9() (all []string) {
	for i := range maxShown + 1 {
		all = append(all, fmt.Sprintf("d%d.db made", i))
	}
	return all
}

func shown8() (all []string) {
	for i := range maxShown {
		all = append(all, fmt.Sprintf("~/d%d.db and beside it", i))
	}
	return all
}

// TestNamesOfChance: a file that has another name at each start is joined to the one file beside it that the entry names.
func TestNamesOfChance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tried, now, want string }{
		{"tmp_9q2i5ms", "tmpk3l2m9qa", "tmp????????"},
		{".a1b2c3d4.part", ".e5f6g7h8.part", ".????????.part"},
		{"shop.db-abcdef", "shop.db-ghijkl", "shop.db-??????"},
		{"tmpabc", "tmpdef", ""},                       // chance is longer
		{"tmp12345678", "tmp123456789", ""},            // and equally long
		{"abcdefghij", "klmnopqrst", ""},               // all of the name
		{"tmp*abcdefgh", "tmp*ijklmnop", ""},           // a pattern in the name
		{"tmpab.defgh1", "tmpij/lmnop2", ""},           // more than one part
		{"notes-20261130.md", "notes-20261201.md", ""}, // a date
		{"index.dat", "index.dir", ""},
	} {
		if got := patternOf(c.tried, c.now); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.tried, c.now, got, c.want)
		}
	}
	d := newDisk(t, "home/memory.json", "home/sub/x")
	at := func(name string) string { return filepath.Join(d.home, name) }
	made := d.use("home/tmpk3l2m9qa", sandbox.Write)
	made.Made = true
	for want, f := range map[string]Facts{
		"writes tmpk3l2m9qa and beside it":                {Named: []string{at("memory.json")}},
		"writes memory.json and beside it as tmp????????": {Named: []string{at("memory.json"), at("tmp_9q2i5ms"), at("sub"), at("sub/x")}, Tried: []string{at("tmp_9q2i5ms")}},
		"": {Named: []string{at("memory.json"), at("other.json")}, Tried: []string{at("tmp_9q2i5ms")}},
	} {
		f.Home, f.Uses = d.home, []sandbox.Use{made}
		r := Record(f)
		if got := strings.Join(Lines(r.Shown, filepath.Base), "; "); got != want || (want == "") != (len(r.Left) == 1) {
			t.Errorf("%q, want %q; left: %v", got, want, r.Left)
		}
	}
}

// TestPatternsThatFillTheLine: a server that uses ever more long names of chance has no pattern confirmed for which the question has no room. Control: short names.
func TestPatternsThatFillTheLine(t *testing.T) {
	t.Parallel()
	d := newDisk(t, "home/memory.json")
	at := func(name string) string { return filepath.Join(d.home, name) }
	for fill, want := range map[string]int{"t": maxShown, strings.Repeat("\x01", 200): 0} {
		f := Facts{Home: d.home, Named: []string{at("memory.json")}}
		for i := range maxShown {
			name := fmt.Sprint(fill, "tmp", i, "-")
			use := d.use("home/"+name+"k3l2m9qa", sandbox.Write)
			use.Made = true
			f.Uses, f.Tried = append(f.Uses, use), append(f.Tried, at(name+"9q2i5ms7"))
		}
		r := Record(f)
		if lines := strings.Join(Lines(r.Shown, filepath.Base), "\n"); len(r.Shown) != want || len(strconv.Quote(lines)) > 4000 {
			t.Errorf("%d paths are shown, want %d, in %d bytes", len(r.Shown), want, len(strconv.Quote(lines)))
		}
	}
}

// TestRecordOfTheProgram: no one is asked about an installed package in which the program itself lies. A person is asked about a project.
func TestRecordOfTheProgram(t *testing.T) {
	t.Parallel()
	d := newDisk(t, "home/node_modules/app/package.json", "home/node_modules/app/bin/server.js", "home/node_modules/app/lib/x.js", "home/work/pyproject.toml", "home/work/run.py", "home/work/clients/list.csv")
	rules := []sandbox.Rule{{Path: filepath.Join(d.home, "node_modules/app/bin/server.js"), Access: sandbox.Read | sandbox.Execute}, {Path: filepath.Join(d.home, "work/run.py"), Access: sandbox.Read | sandbox.Execute}}
	f := Facts{Home: d.home, Uses: []sandbox.Use{d.use("home/node_modules/app/lib/x.js", sandbox.Read)}}
	if r := Record(f); len(r.Own) != 0 || len(r.Shown) != 1 {
		t.Errorf("control: %+v", r)
	}
	f.Profile = &sandbox.Profile{Rules: rules}
	if r := Record(f); len(r.Own) != 1 || len(r.Shown) != 0 || r.Own[0].Path != filepath.Join(d.home, "node_modules/app") {
		t.Errorf("%+v", r)
	}
	f.Uses = []sandbox.Use{d.use("home/work/clients/list.csv", sandbox.Read)}
	if r := Record(f); len(r.Own) != 0 || len(r.Shown) != 1 {
		t.Errorf("a project: %+v", r)
	}
	long := d.use("home/"+strings.Repeat("n", 200)+"/"+strings.Repeat("n", 200)+".db", sandbox.Write)
	long.Made = true
	f.Uses = []sandbox.Use{long}
	if r := Record(f); len(r.Own)+len(r.Shown) != 0 || len(r.Left) != 1 {
		t.Errorf("a path that is too long to be read: %+v", r)
	}
}
