package validate

import (
	"encoding/csv"
	"os"
	"path"
	"regexp"
	"strings"
	"sync"

	"mcphub/validate/chars"
)

// Mount says that a container sees the host's directory Host at Container. Host may be relative to the working directory
// of the command.
type Mount struct{ Host, Container string }

// Container is what the command line of docker or podman says about the paths a child sees.
type Container struct {
	Mounts  []Mount
	Workdir string // in the container, "" where the image decides
}

// ReadContainer reads the -v, --volume, --mount and -w options of a docker, podman or nerdctl command (V5). It is nil
// for any other command, and for one that runs no container.
func ReadContainer(command string, args []string) *Container {
	words := []argument{{text: baseName(command)}}
	for _, a := range args {
		words = append(words, argument{text: a})
	}
	u := usage{uses: make([]use, len(words)), trusted: true}
	if u.command(words, u.uses, 1); !u.program.box {
		return nil
	}
	c := &Container{}
	for i, use := range u.uses {
		value := words[i].text[min(use.at, len(words[i].text)):]
		switch use.kind {
		case useVolume:
			c.volume(value)
		case useMount:
			c.mount(value)
		case useWorkdir:
			c.Workdir = value
		}
	}
	return c
}

// volume reads HOST:CONTAINER[:OPTIONS].
func (c *Container) volume(spec string) {
	from := 0
	if chars.IsDrive(spec) {
		from = 2
	}
	i := strings.IndexByte(spec[from:], ':')
	if i < 0 {
		return // an anonymous volume
	}
	host, rest := spec[:from+i], spec[from+i+1:]
	target, _, _ := strings.Cut(rest, ":")
	c.bind(host, target)
}

// mount reads type=bind,source=HOST,target=CONTAINER as docker does: fields of CSV, names in any letter case.
func (c *Container) mount(spec string) {
	if host, target, bind := readMount(spec); bind {
		c.bind(host, target)
	}
}

func readMount(spec string) (host, target string, bind bool) {
	fields, err := csv.NewReader(strings.NewReader(spec)).Read()
	if err != nil {
		fields = strings.Split(spec, ",") // docker refuses it
	}
	for _, field := range fields {
		k, v, _ := strings.Cut(field, "=")
		switch strings.ToLower(strings.TrimSpace(k)) {
		case "type":
			bind = strings.EqualFold(v, "bind")
		case "source", "src":
			host = v
		case "target", "dst", "destination":
			target = v
		}
	}
	return host, target, bind
}

// bind keeps a host directory; a named volume has none that the hub could look at.
func (c *Container) bind(host, target string) {
	if target == "" || target[0] != '/' || host == "" || !strings.ContainsAny(host, `/\`) && host != "." && host != ".." {
		return
	}
	c.Mounts = append(c.Mounts, Mount{Host: host, Container: path.Clean(target)})
}

// toHost maps an absolute path of the container. ok is false where no mount holds it.
func (c *Container) toHost(p, cwd string) (string, bool) {
	clean := path.Clean(p)
	bestLen, host := -1, ""
	for _, m := range c.Mounts {
		rest, ok := below(m.Container, clean)
		if !ok || len(m.Container) <= bestLen {
			continue
		}
		bestLen = len(m.Container)
		host = m.Host
		if !strings.HasPrefix(host, "/") && !chars.IsDrive(host) {
			host = strings.TrimSuffix(cwd, "/") + "/" + host
		}
		if rest != "" {
			host = strings.TrimSuffix(host, "/") + "/" + rest
		}
	}
	return host, bestLen >= 0
}

// below reports whether clean lies at or below dir, and what follows dir.
func below(dir, clean string) (rest string, ok bool) {
	if dir == clean {
		return "", true
	}
	if dir == "/" && strings.HasPrefix(clean, "/") {
		return clean[1:], true
	}
	if strings.HasPrefix(clean, dir) && len(clean) > len(dir) && chars.IsSlash(clean[len(dir)]) {
		return clean[len(dir)+1:], true
	}
	return "", false
}

// baseName is the last component of a command, without what Windows and scripts append to it.
func baseName(command string) string {
	if i := strings.LastIndexAny(command, `/\`); i >= 0 {
		command = command[i+1:]
	}
	for _, ext := range []string{".exe", ".cmd", ".bat", ".ps1", ".js", ".mjs", ".cjs", ".py", ".ts"} {
		if len(command) > len(ext) && strings.EqualFold(command[len(command)-len(ext):], ext) {
			return command[:len(command)-len(ext)]
		}
	}
	return command
}

// local is what of a word names something on this machine; ok is false where nothing does.
func (u use) local(text string) (s string, ok bool) {
	text = text[min(u.at, len(text)):]
	switch u.kind {
	case useText, useRemote, useWorkdir, usePrint:
		return "", false
	case useWord:
		return text, strings.Trim(text, "/") != ""
	case useData:
		return strings.CutPrefix(text, "@")
	case useHost:
		host := isAtHost.FindString(text)
		return text, host == "" || isThisHost(strings.TrimSuffix(host, ":"))
	case useBox:
		return text, !isInBox.MatchString(text)
	case useVolume:
		return hostOf(text), true
	case useMount:
		if host, target, bind := readMount(text); bind && host != "" && strings.Count(text, host) == 1 && strings.HasPrefix(target, "/") {
			return host, true
		}
	case useSed:
		if file, ok := sedWrites(text); ok {
			return file, file != ""
		}
	case useShell:
		return text, !chars.HasBlank(text) && !strings.ContainsAny(text, ";&|") // the words of one are judged by themselves
	}
	return text, true
}

// thisHost are the names by which this machine knows itself.
var thisHost = regexp.MustCompile(`(?i)^(?:ssh://)?(?:[^@/]*@)?(?:localhost(?:\.localdomain|4|6)?|127[\d.]*|0[\da-fx.]*|\[?[:0.]*(?:ffff:127[\d.]*|1)?\]?)\.?(?::\d*)?/?$`)

var ownName = sync.OnceValue(func() string {
	name, _ := os.Hostname()
	return name
})

func isThisHost(name string) bool {
	_, host, ok := strings.Cut(name, "@")
	if !ok {
		host = name
	}
	return thisHost.MatchString(name) || ownName() != "" && strings.EqualFold(host, ownName())
}

// isAtHost and isInBox begin a path of another machine, and of a container.
var (
	isAtHost = regexp.MustCompile(`^(?:[\w.-]+@)?[\w.-]{2,}:`)
	isInBox  = regexp.MustCompile(`^(?:[\w-]+/)?[\w-][\w.-]*:`)
)

// hostOf is what HOST:CONTAINER says of this machine.
func hostOf(spec string) string {
	from := 0
	if chars.IsDrive(spec) {
		from = 2
	} else if _, _, n := dollarName(spec); n > 0 {
		from = n // ${A:-x} has a colon of its own
	}
	host, _, _ := strings.Cut(spec[from:], ":")
	return spec[:from] + host
}
