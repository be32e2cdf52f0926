package confinement

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/children/gitconfig"
	"mcphub/children/sandbox"
)

// This file opens the system's and the user's configuration of git. A file with credentials in it stays closed. If git could not read
// all of its configuration, it is given a copy by GIT_CONFIG_GLOBAL, of which each line with a credential is left out. The copy lies in the
// child's own temporary folder and goes with that. It is written from what was judged, so nothing else comes into it.

// Variables that tell git the place of its global configuration and of the system's configuration, or to read no system's configuration.
const (
	globalConfig   = "GIT_CONFIG_GLOBAL"
	systemConfig   = "GIT_CONFIG_SYSTEM"
	noSystemConfig = "GIT_CONFIG_NOSYSTEM"
)

// maxIncluded bounds the files that one includes, with the ones that these include.
const maxIncluded = 32

// gitFiles returns the files of a user's configuration of git that are open to every child.
func gitFiles(home string) []string {
	if home == "" {
		return nil
	}
	return []string{filepath.Join(home, ".config", "git", "config"), filepath.Join(home, ".gitconfig")}
}

// openGit opens the configuration of git, or has a copy made.
func (o *opening) openGit(child Child) {
	c := gitCopy{o: o, base: append(gitFiles(o.h.home), o.h.git), folder: child.Temp, names: map[string]string{}}
	defer func() { o.closed = append(o.closed, append(c.secret, c.closed...)...) }()
	tops := c.ofSystem(child)
	if o.h.home == "" {
		return
	}
	read := gitFiles(o.h.home) // what git reads, in this order
	if dir, _ := child.Env.Get("XDG_CONFIG_HOME"); filepath.IsAbs(dir) && filepath.Join(dir, "git", "config") != read[0] {
		c.judgeAlone(read[0]) // git reads another file in its place
		read[0] = filepath.Join(dir, "git", "config")
	}
	for _, path := range read {
		if name := c.readFile(path); name != "" {
			tops = append(tops, name)
		}
	}
	_, said := child.Env.Get(globalConfig)
	home, hasHome := child.Env.Get("HOME")
	switch {
	case said || hasHome && home != o.h.home: // git reads something else
	case !c.incomplete: // git reads all by itself
	case c.folder == "": // nothing is started
	default:
		var text []byte
		for _, name := range tops {
			text = gitconfig.Append(text, includeLine(name))
		}
		o.private = append(c.files, PrivateFile{Path: c.copyPath("gitconfig"), Text: text})
		child.Env.Set(globalConfig, c.copyPath("gitconfig"))
		for i := range c.secret {
			c.secret[i] += "; git reads a copy without that, and a program that does not heed " + globalConfig + " nothing of it"
		}
	}
}

// judgeAlone judges a file that git does not read, and opens it if it is one of base and holds no credential.
func (clone *gitCopy) judgeAlone(path string) {
	other := gitCopy{o: clone.o, base: clone.base, names: map[string]string{}}
	other.readFile(path)
	clone.o.closed = append(clone.o.closed, append(other.secret, other.closed...)...)
}

// ofSystem opens the system's configuration. If git could not read all of it, git reads none, and its copy is to be the first of the user's.
func (clone *gitCopy) ofSystem(child Child) (tops []string) {
	value, without := child.Env.Get(noSystemConfig)
	without = without && !slices.Contains([]string{"", "0", "no", "off", "false"}, strings.ToLower(value)) // as git reads it
	_, said := child.Env.Get(systemConfig)
	if without || said { // git does not read it
		clone.judgeAlone(clone.o.h.git)
		return nil
	}
	name := clone.readFile(clone.o.h.git)
	if !clone.incomplete {
		return nil
	}
	if clone.folder != "" {
		child.Env.Set(noSystemConfig, "1")
	}
	if name == "" {
		return nil
	}
	return []string{name}
}

func includeLine(path string) gitconfig.Line {
	return gitconfig.Line{Section: "include", Key: "path", Value: path, Has: true}
}

// A gitCopy is a copy of a configuration of git that is being made.
type gitCopy struct {
	o          *opening
	base       []string          // files that every child may open, be they included or not
	folder     string            // of the child's own, if it is to be; "": there is none
	names      map[string]string // of the copies, by the files that they are of; "": there is none
	files      []PrivateFile
	incomplete bool     // the child cannot read something of it by itself
	secret     []string // what is closed because of a credential
	closed     []string // what else is closed, and why
}

func (clone *gitCopy) copyPath(name string) string { return filepath.Join(clone.folder, name) }

// readFile judges a file, opens it if it is one of base and holds no credential, and returns the path of its copy; "" for none.
func (clone *gitCopy) readFile(path string) (copied string) {
	o := clone.o
	w := o.h.wayOf(path)
	if copied, done := clone.names[w.real]; done {
		return copied
	}
	clone.names[w.real] = "" // if it includes itself
	why, ok := o.h.followWay(w, asFile)
	if why != "" {
		clone.closed = append(clone.closed, why)
	}
	if !ok || w.end == nil {
		clone.incomplete = clone.incomplete || w.end != nil
		return ""
	}
	var now fileState // one that was replaced since another plan judged it is judged again
	if fi, err := os.Lstat(w.real); err == nil {
		now = stateOf(fi)
	}
	judged := lookOnce(o.h, fmt.Sprintf("git %d %d", now.size, now.time.UnixNano()), w.real, judgeConfig)
	secret := judged.secret
	open := slices.ContainsFunc(o.rules, func(r sandbox.Rule) bool { return r.Access&sandbox.Read != 0 && sandbox.Contains(r.Path, w.real) })
	switch {
	case open:
	case secret != "":
		clone.secret = append(clone.secret, fmt.Sprintf("%s is closed: %s", path, secret))
		clone.incomplete = true
	case slices.Contains(clone.base, path):
		o.addEnd(w, sandbox.Read, true)
	default:
		clone.incomplete = true
	}
	var out []byte
	for _, line := range judged.lines {
		if secret != "" && line.HoldsCredential() { // else none does
			continue
		}
		if line.Key == "path" && (line.Section == "include" || line.Section == "includeif") {
			if line, ok = clone.includedLine(path, line); !ok {
				continue
			}
		}
		out = gitconfig.Append(out, line)
	}
	if len(out) == 0 {
		return ""
	}
	copied = clone.copyPath(fmt.Sprintf("gitconfig-%d", len(clone.files)+1))
	clone.names[w.real] = copied
	clone.files = append(clone.files, PrivateFile{copied, out})
	return copied
}

// includedLine returns the line of a copy for one that includes a file. ok is false if there is nothing to be included, or it must not be.
func (clone *gitCopy) includedLine(file string, line gitconfig.Line) (gitconfig.Line, bool) {
	h := clone.o.h
	path, dir := line.Value, filepath.Dir(file)
	switch below, user := strings.CutPrefix(path, "~/"); {
	case user:
		path = filepath.Join(h.home, below)
	case path == "", strings.HasPrefix(path, "~"), len(clone.names) > maxIncluded:
		return line, false
	case !filepath.IsAbs(path):
		path = filepath.Join(dir, path)
	}
	if condition, rest, here := strings.Cut(line.Sub, ":./"); here && strings.HasPrefix(condition, "gitdir") { // it is about the folder of the file that a link leads to
		here := filepath.Dir(h.Real(file))
		if strings.ContainsAny(here, `*?[\`) {
			return line, false
		}
		line.Sub = condition + ":" + here + "/" + rest
	}
	// Who could write the file could have the hub read any other one for a server.
	w := h.wayOf(path)
	if why, _ := h.memory.whyNotLed(part{name: "what " + file + " includes as " + path, by: []string{file}}, h.looks, []string{w.endPlace(true)}); why != "" {
		clone.closed = append(clone.closed, why)
		return line, false
	}
	line.Value = clone.readFile(path)
	return line, line.Value != ""
}

// A judgedConfig is what a file of settings holds.
type judgedConfig struct {
	lines  []gitconfig.Line // those before what cannot be read
	secret string           // why it is closed; "": it is not
}

func judgeConfig(path string) judgedConfig {
	text, err := readConfig(path)
	switch {
	case err != nil:
		return judgedConfig{secret: err.Error()}
	case sandbox.KeyFolder(path) != "" || sandbox.ClientFile(path) != "":
		return judgedConfig{secret: sandbox.WhySecret(path)}
	}
	lines, _, _ := gitconfig.Parse(text)
	return judgedConfig{lines, gitconfig.WhySecret(text)}
}

// readConfig reads a file of settings whole.
func readConfig(path string) ([]byte, error) {
	f := openRegular(path)
	if f == nil {
		return nil, errors.New("it cannot be read")
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, gitconfig.MaxSize+1))
	if err == nil && len(text) > gitconfig.MaxSize {
		return nil, fmt.Errorf("it has more than %d bytes", gitconfig.MaxSize)
	}
	return text, err
}

// A PrivateFile is written into the child's own temporary folder before it starts.
type PrivateFile struct {
	Path string
	Text []byte
}

// WritePrivate writes the files of the child's own temporary folder. It follows no link out of that folder.
func (confined *Confinement) WritePrivate() error {
	if len(confined.Private) == 0 {
		return nil
	}
	folder, err := os.OpenRoot(confined.Temp)
	if err != nil {
		return err
	}
	defer folder.Close()
	for _, file := range confined.Private {
		name := filepath.Base(file.Path)
		if err := folder.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		f, err := folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write(file.Text)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}
