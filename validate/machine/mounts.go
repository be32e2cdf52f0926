package machine

import (
	"path"
	"strings"

	"mcphub/internal/commandline"
	"mcphub/validate/chars"
	"mcphub/validate/shell"
)

// Mount reports that a container sees the host's directory Host at Container. Host may be relative to the working
// directory of the command.
type Mount struct{ Host, Container string }

// Container is what the command line of docker or podman says about the paths a child sees.
type Container struct {
	Mounts  []Mount
	Workdir string // in the container, "" if the image decides
}

// ReadContainer reads the -v, --volume, --mount and -w options of a docker, podman or nerdctl command, also behind timeout,
// nice and a shell. It is nil for any other command, and for one that runs no container.
func ReadContainer(command string, args []string) *Container {
	line := commandline.ReadLine(command, args)
	if name, _, _ := commandline.LauncherOf(line.Command); name != "docker" || !line.Sure {
		return nil // most servers, for which the table of programs need not be read
	}
	words := []shell.Argument{{Text: commandline.BaseName(line.Command)}}
	for _, a := range line.Args {
		words = append(words, shell.Argument{Text: a})
	}
	u := shell.Usage{Uses: make([]shell.Use, len(words)), Trusted: true}
	if u.Command(words, u.Uses, 1); !u.Program.Box {
		return nil
	}
	c := &Container{}
	for i, use := range u.Uses {
		value := words[i].Text[min(use.At, len(words[i].Text)):]
		switch use.Kind {
		case shell.UseVolume: // HOST:CONTAINER[:OPTIONS]
			host := shell.HostOf(value)
			target, _, _ := strings.Cut(strings.TrimPrefix(value[len(host):], ":"), ":")
			c.bindFolder(host, target)
		case shell.UseMount:
			if host, target, bind := shell.ReadMount(value); bind {
				c.bindFolder(host, target)
			}
		case shell.UseWorkdir:
			c.Workdir = value
		}
	}
	return c
}

// bindFolder keeps a host directory; a named or anonymous volume has none that the hub could look at.
func (container *Container) bindFolder(host, target string) {
	if target == "" || target[0] != '/' || host == "" || !strings.ContainsAny(host, `/\`) && host != "." && host != ".." {
		return
	}
	container.Mounts = append(container.Mounts, Mount{Host: host, Container: path.Clean(target)})
}

// ToHost maps an absolute path of the container. ok is false if no mount holds it.
func (container *Container) ToHost(p, cwd string) (string, bool) {
	clean := path.Clean(p)
	bestLen, host := -1, ""
	for _, m := range container.Mounts {
		rest, ok := Below(m.Container, clean)
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

// Below reports whether clean lies at or below dir, and what follows dir.
func Below(dir, clean string) (rest string, ok bool) {
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
