package sandbox

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A Need is something that programs need whatever they do.
type Need struct {
	For    string   // what it is, for documents
	Paths  []string // absolute, or below the home folder with ~/; a * stands for part of a name
	Access Access
}

// PathsIn returns the paths of a Need that are there under their names; home is the home
// folder, "" if there is none.
func (need Need) PathsIn(home string) (paths []string) {
	for _, path := range need.Paths {
		below, user := strings.CutPrefix(path, "~/")
		switch {
		case user && home == "":
		case user:
			paths = append(paths, filepath.Join(home, below))
		case strings.Contains(path, "*"):
			found, _ := filepath.Glob(path) // the pattern is one of Base
			paths = append(paths, found...)
		default:
			paths = append(paths, path)
		}
	}
	return paths
}

// Base returns what every confined child may open beside its own program and the
// boundary. It holds no keys, no credential files, and of the user's folders those
// alone in which programs are installed.
func Base() []Need { return BaseOf(runtime.GOOS) }

// BaseOf works like Base on a system, as runtime.GOOS names it.
func BaseOf(system string) []Need {
	if system == "darwin" {
		return baseOfMac
	}
	return []Need{
		{"Programs and shared libraries of the system", []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store", "/run/current-system/sw", "/etc/alternatives"}, Read | Execute},
		{"Programs and packages that the user has installed", []string{"~/.local/bin", "~/.local/lib", "~/.local/pipx", "~/.local/share/pipx", "~/.local/share/uv/python", "~/.local/share/uv/tools"}, Read | Execute},
		{"How libraries are found", []string{"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload"}, Read},
		{"Certificates of authorities", []string{"/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf", "/etc/pki/ca-trust/extracted", "/etc/crypto-policies", "/var/lib/ca-certificates"}, Read},
		{"Time zone and language", []string{"/etc/localtime", "/etc/timezone", "/etc/locale.alias", "/etc/locale.conf", "/etc/default/locale"}, Read},
		{"Names of users, hosts and services", []string{"/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/host.conf", "/etc/hostname", "/etc/resolv.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols", "/run/systemd/resolve"}, Read},
		{"What the system is", []string{"/etc/os-release", "/etc/lsb-release", "/etc/debian_version", "/etc/machine-id", "/etc/mime.types", "/etc/magic", "/etc/shells"}, Read},
		{"Settings of shells, terminals, fonts, git and ssh", []string{"/etc/profile", "/etc/profile.d", "/etc/bash.bashrc", "/etc/bashrc", "/etc/inputrc", "/etc/terminfo", "/etc/fonts", "/var/cache/fontconfig", "/etc/gitconfig", "/etc/ssh/ssh_config", "/etc/ssh/ssh_config.d"}, Read},
		{"Settings of interpreters", []string{"/etc/python3", "/etc/perl", "/etc/java", "/etc/java-*", "/etc/node"}, Read},
		{"Processes and the machine", []string{"/proc", "/sys"}, Read},
		{"Harmless devices", []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/ptmx"}, Read | Write | Device},
		{"The user's settings of git, and the hosts that ssh knows", userFiles, Read},
	}
}

// userFiles are files of the user's in Base.
var userFiles = []string{"~/.gitconfig", "~/.config/git/config", "~/.config/git/ignore", "~/.config/git/attributes", "~/.ssh/config", "~/.ssh/known_hosts"}

// IsFile reports whether a path of Base is a file by its nature: a folder that is there in
// its place is not opened. home is the home folder.
func IsFile(path, home string) bool {
	return slices.ContainsFunc(userFiles, func(file string) bool { return path == filepath.Join(home, file[2:]) })
}

// What all programs of a user share: who may open it reads and writes what others have
// there. No rule can tell the one from the other, because both are made later, by any
// name. So it is opened only for the ones that cannot do without.
var (
	Terminals = Rule{terminalFolder(), Read | Write | Device}
	Memory    = Rule{"/dev/shm", Read | Write}
)

// terminalFolder returns the place of the terminals of a user. On macOS they have names of their own in /dev, and /dev/tty stands for them.
func terminalFolder() string {
	if runtime.GOOS == "darwin" {
		return "/dev/tty"
	}
	return "/dev/pts"
}

// BaseRules returns the rules of Base. It returns rules of the home folder only if there is one.
func BaseRules(home string) (rules []Rule) {
	for _, need := range Base() {
		for _, path := range need.PathsIn(home) {
			rules = append(rules, Rule{path, need.Access})
		}
	}
	return rules
}

// UserBase returns the rules of Base for the user of this process. It looks at the disk.
func UserBase() []Rule {
	home, _ := os.UserHomeDir()
	return BaseRules(home)
}

// RulesBeyond returns the rules and files of a Profile beside base, the rules that every program needs.
func (p *Profile) RulesBeyond(base []Rule) (rules []Rule) {
	for _, r := range p.Rules {
		if !slices.ContainsFunc(base, func(b Rule) bool { return r.Access&^b.Access == 0 && Contains(b.Path, r.Path) }) {
			rules = append(rules, r)
		}
	}
	for _, f := range p.Files {
		rules = append(rules, f.Rule())
	}
	return rules
}
