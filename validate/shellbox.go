package validate

import "strings"

// boxState follows the words of docker, podman or kubectl up to the command that runs in a container: its words are
// paths of the container.
type boxState struct {
	stage boxStage
	value bool // the next word is the value of an option
}

type boxStage uint8

const (
	boxNone    boxStage = iota
	boxCommand          // the subcommand is awaited
	boxCompose          // behind docker compose
	boxOptions          // of run, exec or create
	boxDashes           // kubectl exec: "--" is awaited
	boxInside
)

// composeValues are options of docker compose with a value.
var composeValues = wordSet("-f --file -p --project-name --profile --env-file --project-directory --ansi --progress --parallel")

// next takes in a word of the command name, and reports whether it is the container's.
func (b *boxState) next(name, w, last string) (inside bool) {
	kube := name == "kubectl" || name == "oc"
	switch b.stage {
	case boxCommand, boxCompose:
		switch {
		case b.stage == boxCompose && (composeValues[last] || strings.HasPrefix(w, "-")), w == "container" && !kube:
		case w == "compose" && !kube && b.stage == boxCommand:
			b.stage = boxCompose
		case kube && w == "exec":
			b.stage = boxDashes
		case !kube && (w == "exec" || w == "run" || w == "create"):
			b.stage = boxOptions
		default:
			b.stage = boxNone
		}
	case boxOptions:
		switch {
		case b.value:
			b.value = false
		case strings.HasPrefix(w, "-"):
			_, _, attached := shortFlag(w)
			b.value = !attached && !containerBools[w] && strings.IndexByte(w, '=') < 0
		default:
			b.stage = boxInside
		}
	case boxDashes:
		if w == "--" {
			b.stage = boxInside
		}
	case boxInside:
		return true
	}
	return false
}

// takesEnv reports that the word behind last is a variable of the container.
func (b *boxState) takesEnv(last string) bool {
	return b.stage == boxOptions && (last == "-e" || last == "--env")
}

// volume handles a word that maps a directory into a container: only what stands before the colon is this machine's.
func (l *shellLexer) volume(w shellWord) bool {
	if !boxes[l.cmd.name] || l.cmd.vague {
		return false
	}
	host, target, ok := mapping(w.text, l.cmd.last)
	if !ok {
		return false
	}
	if host != "" {
		in := shellWord{text: host, pattern: host, dir: w.dir, sure: w.sure}
		l.yield(in)
		l.inner(in)
	}
	if raw := l.source(); raw != "" && target != "" {
		if i := strings.LastIndex(raw, target); i >= 0 {
			l.blank(l.begin+i, l.begin+i+len(target))
		}
	}
	return true
}

// mapping reads what docker is given behind -v, --mount and -w, or in one word with it.
func mapping(w, last string) (host, target string, ok bool) {
	flag, spec := last, w
	for _, long := range []string{"--volume=", "--workdir=", "--mount="} {
		if rest, has := strings.CutPrefix(w, long); has {
			flag, spec = strings.TrimSuffix(long, "="), rest
		}
	}
	if rest, has := strings.CutPrefix(w, "-v"); has && rest != "" {
		flag, spec = "-v", strings.TrimPrefix(rest, "=")
	}
	switch flag {
	case "-w", "--workdir":
		return "", spec, true
	case "--mount":
		host, target, bind := readMount(spec)
		return host, target, bind && host != "" && strings.HasPrefix(target, "/") && strings.Count(spec, target) == 1
	case "-v", "--volume":
		from := 0
		if isDrive(spec) {
			from = 2
		} else if _, _, n := dollarName(spec); n > 0 {
			from = n // ${A:-x} has a colon of its own
		}
		i := strings.IndexByte(spec[from:], ':')
		if i < 0 {
			return spec, "", true
		}
		return spec[:from+i], spec[from+i:], true
	}
	return "", "", false
}
