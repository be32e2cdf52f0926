package confinement_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/children/confinement"
	"mcphub/children/gitconfig"
	"mcphub/children/launch"
	"mcphub/children/program"
	"mcphub/children/sandbox"
)

const gitToken = "ghp_0123456789abcdefghijklmnop"

// A configuration of git stays open if no credential is in it. Else the file that holds it is closed, and git reads a copy without
// the line. All that git reads of the copy, it reads of the configuration too.
func TestSettingsOfGit(t *testing.T) {
	const person = "[user]\n\tname = A Person\n\temail = a@b.c\n"
	const header = "[http \"https://x.org\"]\n\textraHeader = Authorization: Bearer " + gitToken + "\n"
	for name, tc := range map[string]struct {
		files  map[string]string // below home
		links  map[string]string
		env    map[string]string
		root   string
		cwd    string // where git looks; "": proj
		system bool   // etc/gitconfig is the system's
		open   []string
		closed []string
		copied bool
		reads  map[string]string // in the copy; "": nothing
		told   string
	}{
		"one without credentials":       {files: map[string]string{".gitconfig": person}, open: []string{".gitconfig"}},
		"a header":                      {files: map[string]string{".gitconfig": person + header}, closed: []string{".gitconfig"}, copied: true, reads: map[string]string{"user.name": "A Person", "http.https://x.org.extraheader": ""}, told: "line 5 holds a credential (http.extraheader)"},
		"an address with a user":        {files: map[string]string{".gitconfig": "[url \"https://me:" + gitToken + "@x.org/\"]\n\tinsteadOf = https://x.org/\n" + person}, closed: []string{".gitconfig"}, copied: true, reads: map[string]string{"user.name": "A Person"}, told: "(url.insteadof)"},
		"a comment":                     {files: map[string]string{".gitconfig": person + "# token = " + gitToken + "\n"}, closed: []string{".gitconfig"}, copied: true, reads: map[string]string{"user.name": "A Person"}, told: "line 4 looks like a credential"},
		"what git does not read either": {files: map[string]string{".gitconfig": person + "[x\ntoken = " + gitToken + "\n"}, closed: []string{".gitconfig"}, copied: true, reads: map[string]string{"user.name": "A Person"}, told: "cannot be told"},
		"one that is too long":          {files: map[string]string{".gitconfig": person + strings.Repeat("# x\n", 1<<19)}, closed: []string{".gitconfig"}, copied: true, reads: map[string]string{"user.name": ""}, told: "more than"},
		"one that is just short enough": {files: map[string]string{".gitconfig": person + strings.Repeat("\n", gitconfig.MaxSize-len(person))}, open: []string{".gitconfig"}},
		"two files": {
			files: map[string]string{".config/git/config": person + "[a]\n\tb = first\n", ".gitconfig": header + "[a]\n\tb = second\n"}, open: []string{".config/git/config"}, closed: []string{".gitconfig"}, copied: true,
			reads: map[string]string{"user.name": "A Person", "a.b": "second"},
		},
		"elsewhere by a variable": {
			files: map[string]string{"conf/git/config": person + header, ".config/git/config": header, ".gitconfig": "[a]\n\tb = c\n"}, env: map[string]string{"XDG_CONFIG_HOME": "conf"},
			open: []string{".gitconfig"}, closed: []string{".config/git/config"}, copied: false, // the entry names the folder, so git reads it by itself
		},
		"by a link": {
			files: map[string]string{"dotfiles/gitconfig": person + header}, links: map[string]string{".gitconfig": "dotfiles/gitconfig"}, closed: []string{"dotfiles/gitconfig"}, copied: true, reads: map[string]string{"user.name": "A Person"},
		},
		"what is included": {
			files: map[string]string{".gitconfig": "[include]\n\tpath = conf/more\n[include]\n\tpath = ~/.gitconfig.local\n[include]\n\tpath = missing\n", "conf/more": person + "[include]\n\tpath = deeper\n", "conf/deeper": "[a]\n\tb = c\n", ".gitconfig.local": header},
			open:  []string{".gitconfig"}, closed: []string{"conf/more", ".gitconfig.local"}, copied: true, reads: map[string]string{"user.name": "A Person", "a.b": "c", "http.https://x.org.extraheader": ""}, told: ".gitconfig.local is closed: line 2 holds",
		},
		"what is included without a credential": {
			files: map[string]string{".gitconfig": "[include]\n\tpath = .gitconfig.local\n", ".gitconfig.local": person}, open: []string{".gitconfig"}, closed: []string{".gitconfig.local"}, copied: true, reads: map[string]string{"user.name": "A Person"},
		},
		"what is included in a folder": {
			files: map[string]string{".gitconfig": person + header + "[includeIf \"gitdir:~/proj/\"]\n\tpath = work.inc\n", "work.inc": "[user]\n\temail = work@b.c\n"}, cwd: "proj", closed: []string{".gitconfig", "work.inc"}, copied: true, reads: map[string]string{"user.email": "work@b.c"},
		},
		"what is included beside the file": {
			files: map[string]string{".gitconfig": person + header + "[includeIf \"gitdir:./proj/\"]\n\tpath = work.inc\n", "work.inc": "[user]\n\temail = work@b.c\n"}, cwd: "proj", closed: []string{".gitconfig"}, copied: true, reads: map[string]string{"user.email": "work@b.c"},
		},
		"one that the other includes": {
			files: map[string]string{".config/git/config": "[include]\n\tpath = ~/.gitconfig\n", ".gitconfig": person}, open: []string{".config/git/config", ".gitconfig"},
		},
		"what is included beside the file that a link leads to": {
			files: map[string]string{"dotfiles/gitconfig": person + header + "[includeIf \"gitdir:./proj/\"]\n\tpath = work.inc\n", "work.inc": "[user]\n\temail = work@b.c\n"}, links: map[string]string{".gitconfig": "dotfiles/gitconfig"}, cwd: "proj",
			closed: []string{"dotfiles/gitconfig"}, copied: true, reads: map[string]string{"user.email": "a@b.c"},
		},
		"the same, in the folder that it is about": {
			files: map[string]string{"dotfiles/gitconfig": person + header + "[includeIf \"gitdir:./proj/\"]\n\tpath = work.inc\n", "work.inc": "[user]\n\temail = work@b.c\n"}, links: map[string]string{".gitconfig": "dotfiles/gitconfig"}, cwd: "dotfiles/proj",
			closed: []string{"dotfiles/gitconfig"}, copied: true, reads: map[string]string{"user.email": "work@b.c"},
		},
		"what is not there is included first": {files: map[string]string{".gitconfig": header + "[include]\n\tpath = missing\n[x]\n\tpath = p\n" + person}, closed: []string{".gitconfig"}, copied: true, reads: map[string]string{"user.name": "A Person", "x.path": "p"}},
		"one that includes itself":            {files: map[string]string{".gitconfig": person + header + "[include]\n\tpath = .gitconfig\n"}, closed: []string{".gitconfig"}, copied: true, reads: map[string]string{"user.name": "A Person"}},
		"keys that are included":              {files: map[string]string{".gitconfig": person + "[include]\n\tpath = .aws/config\n", ".aws/config": "[a]\n\tb = c\n"}, open: []string{".gitconfig"}, closed: []string{".aws/config"}, copied: true, reads: map[string]string{"a.b": "", "user.name": "A Person"}},
		"a root that holds it":                {files: map[string]string{".gitconfig": person + header}, root: ".", open: []string{".gitconfig"}},
		"an entry that says another": {
			files: map[string]string{".gitconfig": person + header, "other": person}, env: map[string]string{"GIT_CONFIG_GLOBAL": "other"}, open: []string{"other"}, closed: []string{".gitconfig"},
		},
		"the system's": {
			files: map[string]string{"etc/gitconfig": header + "[a]\n\tb = first\n\tc = d\n", ".gitconfig": person + "[a]\n\tb = second\n"}, system: true, open: []string{".gitconfig"}, closed: []string{"etc/gitconfig"}, copied: true,
			reads: map[string]string{"user.name": "A Person", "a.b": "second", "a.c": "d", "http.https://x.org.extraheader": ""}, told: "etc/gitconfig is closed: line 2 holds a credential",
		},
		"the system's, which git is not told to leave": {
			files: map[string]string{"etc/gitconfig": header + "[a]\n\tb = c\n", ".gitconfig": person}, system: true, env: map[string]string{"GIT_CONFIG_NOSYSTEM": "0"}, open: []string{".gitconfig"}, closed: []string{"etc/gitconfig"},
			copied: true, reads: map[string]string{"user.name": "A Person", "a.b": "c"},
		},
		"the system's without credentials": {files: map[string]string{"etc/gitconfig": person, ".gitconfig": "[a]\n\tb = c\n"}, system: true, open: []string{"etc/gitconfig", ".gitconfig"}},
		"the system's, which the entry does not want": {
			files: map[string]string{"etc/gitconfig": header, ".gitconfig": person}, system: true, env: map[string]string{"GIT_CONFIG_NOSYSTEM": "1"}, open: []string{".gitconfig"}, closed: []string{"etc/gitconfig"},
		},
		"another home": {files: map[string]string{".gitconfig": person + header}, env: map[string]string{"HOME": "conf"}, closed: []string{".gitconfig"}},
	} {
		t.Run(name, func(t *testing.T) {
			h, home := confinedMachine(t)
			at := func(p string) string { return filepath.Join(home, p) }
			if err := os.RemoveAll(at(".gitconfig")); err != nil {
				t.Fatal(err)
			}
			for file, text := range tc.files {
				putFile(t, at(file), text)
			}
			for link, to := range tc.links {
				relink(t, to, at(link))
			}
			cwd := at(cmp.Or(tc.cwd, "proj"))
			if err := os.MkdirAll(cwd, 0o700); err != nil {
				t.Fatal(err)
			}
			if tc.root != "" {
				h = writable(h, home, tc.root)
			}
			if tc.system {
				h.Host = h.WithSystemGit(at("etc/gitconfig"))
			}
			prog := confinedProgram("sh")
			prog.Env = map[string]string{}
			for key, value := range tc.env {
				if prog.Env[key] = value; key != "GIT_CONFIG_NOSYSTEM" {
					prog.Env[key] = at(value)
				}
			}
			l := planWithTemp(t, h, prog)
			c := l.Sandbox
			global, _ := envOf(l, "GIT_CONFIG_GLOBAL")
			for _, file := range tc.open {
				if !opens(c, at(file)) {
					t.Errorf("%s is closed: %q", file, c.Report.Closed)
				}
			}
			for _, file := range tc.closed {
				if opens(c, at(file)) {
					t.Errorf("%s is open", file)
				}
			}
			if said := strings.Join(c.Report.Closed, "; "); !strings.Contains(said, tc.told) || strings.Contains(said, gitToken) {
				t.Errorf("it says %q", said)
			}
			if (len(c.Private) > 0) != tc.copied || tc.copied && global != c.Private[len(c.Private)-1].Path {
				t.Fatalf("%d files are copied, and git reads %q", len(c.Private), global)
			}
			if want := tc.env["GIT_CONFIG_GLOBAL"]; !tc.copied && (want == "" && global != "" || want != "" && global != at(want)) {
				t.Errorf("git is told to read %q", global)
			}
			leaves := tc.env["GIT_CONFIG_NOSYSTEM"]
			if tc.system && tc.copied {
				leaves = "1" // git could not read it, and ends then
			}
			if got, _ := envOf(l, "GIT_CONFIG_NOSYSTEM"); got != leaves {
				t.Errorf("git is told %q about the system's configuration, want %q", got, leaves)
			}
			if !tc.copied {
				return
			}
			if err := c.WritePrivate(); err != nil {
				t.Fatal(err)
			}
			git(t, cwd, "init", "-q")
			list := func(env ...string) []string {
				cmd := exec.Command("git", "config", "--global", "--includes", "--list")
				cmd.Dir, cmd.Env = cwd, append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}, env...)
				out, err := cmd.Output()
				if err != nil {
					return nil // it does not read it
				}
				return strings.Split(strings.TrimSpace(string(out)), "\n")
			}
			before, after := list(), list("GIT_CONFIG_GLOBAL="+global)
			for _, line := range after {
				if name, _, _ := strings.Cut(line, "="); line != "" && !strings.HasPrefix(name, "include") && before != nil && !slices.Contains(before, line) && tc.files[".config/git/config"] == "" && !tc.system {
					t.Errorf("the copy says %s, and the configuration does not", line)
				}
				if strings.Contains(line, gitToken) {
					t.Errorf("the copy holds a credential: %s", line)
				}
			}
			for key, want := range tc.reads {
				cmd := exec.Command("git", "config", "--get", key)
				cmd.Dir, cmd.Env = cwd, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + global}
				if out, _ := cmd.Output(); strings.TrimSpace(string(out)) != want {
					t.Errorf("%s is %q, want %q", key, out, want)
				}
			}
		})
	}
}

// planWithTemp plans a start with a temporary folder of the child's own.
func planWithTemp(t *testing.T, h launch.Machine, prog program.Program) launch.Launch {
	t.Helper()
	l, err := launch.Plan(prog, nil, h.WithPrivate(sandbox.RealPath(t.TempDir()), ""))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A server that may write a configuration of git has the hub read nothing for another one: what the file includes elsewhere is a
// question for a person. Without the record of where servers write, it is in the copy, which is the control.
func TestIncludedByAServer(t *testing.T) {
	for _, reaches := range []bool{false, true} {
		h, home := confinedMachine(t)
		at := func(p string) string { return filepath.Join(home, p) }
		putFile(t, at("private/x"), "[secret]\n\tanswer = 42\n")
		putFile(t, at("dotfiles/gitconfig"), "[include]\n\tpath = "+at("private/x")+"\n")
		relink(t, "dotfiles/gitconfig", at(".gitconfig"))
		if reaches {
			if err := h.Store().Reach().Add(at("dotfiles")); err != nil {
				t.Fatal(err)
			}
		}
		c := planWithTemp(t, h, confinedProgram("sh")).Sandbox
		found := slices.ContainsFunc(c.Private, func(f confinement.PrivateFile) bool { return strings.Contains(string(f.Text), "42") })
		if found == reaches {
			t.Errorf("servers write there: %t; it is in the copy: %t", reaches, found)
		}
		if asked := questions(t, h); (len(asked) > 0) != reaches {
			t.Errorf("it asks %+v", asked)
		}
	}
}

// What lies in the child's own folder by the name of a copy is replaced, and no link is followed.
func TestACopyReplacesALink(t *testing.T) {
	dir := t.TempDir()
	victim := putFile(t, filepath.Join(dir, "victim"), "as it was")
	temp := filepath.Join(dir, "temp")
	relink(t, victim, filepath.Join(temp, "gitconfig"))
	c := confinement.Confinement{Temp: temp, Private: []confinement.PrivateFile{{Path: filepath.Join(temp, "gitconfig"), Text: []byte("new")}}}
	if err := c.WritePrivate(); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Lstat(filepath.Join(temp, "gitconfig"))
	if text, errRead := os.ReadFile(victim); err != nil || errRead != nil || string(text) != "as it was" || fi.Mode() != 0o600 {
		t.Errorf("%q %v %v %v", text, fi, err, errRead)
	}
}
