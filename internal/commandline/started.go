package commandline

import (
	"slices"
	"strings"
)

// A Kind is how a command line names what it starts.
type Kind uint8

const (
	Command Kind = iota // a program: a path, or a name that PATH has
	File                // a script or a program that a launcher runs, by its path
	Project             // a program of a project, which a launcher finds there (uv run NAME)
	Fetched             // a package of npm or PyPI, which a launcher fetches
	Image               // an image, which runs in a container
	Module              // a module of Python
)

// A Name is one name of what a command line starts.
type Name struct {
	Kind Kind
	Text string // a package has no version
}

// Started is what a command line starts.
type Started struct {
	Names []Name // the most exact one first: of "npx tsx server.ts" the script, then tsx
	At    int    // the argument that names the program; -1: the command does; Nowhere: no argument of the line does
	Sure  bool   // all that stands before the program is understood, so that nothing else is started
	Guess bool   // a command that is not known may start it, from what follows --

	Command string // the innermost command, which nothing wraps
	Args    []string
}

// Nowhere is Started.At if a text names the program, or if nothing does.
const Nowhere = -2

// ReadLine returns what a command line starts, behind all wrappers: "timeout 5", "sudo -u NAME", "bash -c" with a text of
// plain words, and what follows -- of a command that is not known, of which nothing is sure.
func ReadLine(command string, args []string) (s Started) {
	s.Sure = true
	offset, inText, outer := 0, false, slices.Concat([]string{command}, args)
	for range maxWrapped {
		at := Unwrap(command, args)
		if _, _, known := LauncherOf(command); at == 0 && !known {
			if at = slices.Index(args, "--") + 2; at == 1 || at > len(args) || !isLauncher(args[at-1]) || slices.Contains(remote, BaseName(command)) {
				break
			}
			s.Sure, s.Guess = false, true
		}
		if at > 0 {
			command, args, offset = args[at-1], args[at:], offset+at
			continue
		}
		words := shellWords(command, args)
		if words == nil {
			break
		}
		command, args, inText, outer = words[0], words[1:], true, words
	}
	at := ProgramAt(command, args)
	if s.At = at + offset; inText || at >= len(args) {
		s.At = Nowhere
	}
	s.Names, s.Command, s.Args = namesOf(command, args), command, args
	if _, l, _ := LauncherOf(command); l.fetches(args) {
		_, understood := ReadPackage(outer[0], outer[1:])
		s.Sure = s.Sure && understood
	}
	return s
}

func isLauncher(command string) bool {
	_, _, known := LauncherOf(command)
	return known
}

// shellWords returns the command that a shell is given as a text of plain words; nil if there is none.
func shellWords(command string, args []string) []string {
	name, l, _ := LauncherOf(command)
	if i := slices.IndexFunc(args, l.IsCode); name == "sh" && i >= 0 && i+1 < len(args) && ProgramAt(command, args[:i]) == i {
		if words, plain := plainWords(args[i+1]); plain {
			return words
		}
	}
	return nil
}

// namesOf returns the names of what a command starts that nothing wraps.
func namesOf(command string, args []string) []Name {
	name, l, known := LauncherOf(command)
	self := Name{Command, command}
	at := ProgramAt(command, args)
	if spec, fetches := l.fetchedSpec(args, at); fetches {
		fetched := RegistryName(spec)
		if fetched == "" || at < len(args) && args[at] != spec && args[at] != fetched && isLauncher(args[at]) { // npx -p PACKAGE node FILE runs no program of the package
			return nil
		}
		var names []Name
		if at < len(args) && isLauncher(fetched) { // npx tsx FILE
			names = slices.DeleteFunc(namesOf(fetched, args[at+1:]), func(n Name) bool { return n == Name{Command, fetched} })
		}
		return append(names, Name{Fetched, fetched})
	}
	switch {
	case name == "docker":
		if image := imageOf(args); image != "" {
			return []Name{{Image, image}}
		}
		return nil
	case name == "python" && ModuleOf(args) != "":
		return []Name{{Module, ModuleOf(args)}, self}
	case !known, at < 0, at >= len(args), len(l.builds) > 0, l.wraps:
		return []Name{self}
	case name == "deno" && strings.HasPrefix(args[at], "npm:"):
		return []Name{{Fetched, WithoutVersion(args[at])}, self}
	case l.script, len(l.runs) > 0:
		return []Name{{File, args[at]}, self}
	case len(l.sub) == 0:
		return []Name{self}
	}
	names := namesOf(args[at], args[at+1:]) // uv run python -m MODULE
	for i := range names {
		if n := &names[i]; n.Kind == Command && !namesPath(n.Text) {
			n.Kind = Project
		}
	}
	return names
}

func (l *Launcher) fetches(args []string) bool {
	_, fetches := l.Fetches(args)
	return fetches
}

// fetchedSpec returns the package that a launcher fetches, as it is written; "" if it fetches more than one.
func (l *Launcher) fetchedSpec(args []string, at int) (spec string, fetches bool) {
	if !l.fetches(args) {
		return "", false
	}
	var specs []string
	for w := range l.readWords(args[:min(at, len(args))]) {
		if slices.Contains(l.fetch.packages, w.flag) {
			specs = append(specs, w.value)
		}
	}
	if len(specs) == 0 && at >= 0 && at < len(args) {
		specs = args[at : at+1]
	}
	if len(specs) != 1 {
		return "", true
	}
	return specs[0], true
}

// switches are the long flags of docker and podman, before and behind their subcommand, that take no value.
var switches = []string{
	"--debug", "--tls", "--tlsverify", "--remote", "--detach", "--interactive", "--tty", "--quiet", "--publish-all", "--rm", "--rmi", "--init", "--privileged", "--read-only",
	"--no-healthcheck", "--no-hosts", "--no-hostname", "--oom-kill-disable", "--replace", "--sig-proxy", "--disable-content-trust", "--tls-verify", "--help",
}

// imageOf returns the image that docker or podman runs, without a tag or a digest; "" if that is not found.
func imageOf(args []string) string {
	runs := false
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case strings.HasPrefix(a, "-"):
			long := strings.HasPrefix(a, "--")
			if long && !strings.Contains(a, "=") && !slices.Contains(switches, a) || !long && len(strings.TrimLeft(a[1:], "ditqDP")) == 1 {
				i++ // -it has no value, -itv has the next word, and -v/a:/b its own
			}
		case runs:
			return imageName(a)
		case a == "run":
			runs = true
		case a != "container":
			return ""
		}
	}
	return ""
}

// imageName returns the name of an image without a tag, a digest and the default registry.
func imageName(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		image = image[:i]
	}
	return strings.TrimPrefix(strings.TrimPrefix(image, "docker.io/"), "library/")
}
