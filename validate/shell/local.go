package shell

import (
	"encoding/csv"
	"runtime"
	"strings"

	"mcphub/internal/lazyregexp"
	"mcphub/validate/chars"
	"mcphub/validate/uri"
)

// ReadMount reads type=bind,source=HOST,target=CONTAINER as docker does: fields of CSV, names in any letter case.
func ReadMount(spec string) (host, target string, bind bool) {
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

// BaseName returns the last component of a command, without what Windows and scripts append to it.
func BaseName(command string) string {
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

// IsName reports whether a word is the name of a target, a package or a branch, as far as it is not written as a path.
func (use Use) IsName() bool { return use.Kind == useName }

// Local returns what of a word names something on this machine; ok is false if nothing does.
func (use Use) Local(text string) (s string, ok bool) {
	text = text[min(use.At, len(text)):]
	switch use.Kind {
	case UseText, useRemote, UseWorkdir, UsePrint, useHosts:
		return "", false
	case useName:
		return text, !IsName(text) && strings.Trim(text, "/") != ""
	case UseExtras:
		text = extras.ReplaceAllString(text, "")
	case useWord:
		return text, strings.Trim(text, "/") != ""
	case useForm:
		return text, strings.ContainsAny(text[strings.IndexByte(text, '=')+1:], "@<")
	case useData:
		return strings.CutPrefix(text, "@")
	case useHost:
		host := isAtHost.FindString(text)
		return text, host == "" || runtime.GOOS == "windows" && chars.IsDrive(text) || strings.HasPrefix(text[len(host):], "//") || uri.IsThisHost(strings.TrimSuffix(host, ":"))
	case useBox:
		return text, !isInBox.MatchString(text)
	case UseVolume:
		return HostOf(text), true
	case UseMount:
		if host, target, bind := ReadMount(text); bind && host != "" && strings.Count(text, host) == 1 && strings.HasPrefix(target, "/") {
			return host, true
		}
	case UseSed:
		if addsText.MatchString(text) {
			return "", false
		}
		if file, ok := sedWrites(text); ok {
			return file, file != ""
		}
	case UseShell:
		return text, !chars.HasBlank(text) && !strings.ContainsAny(text, ";&|") // the words of one are judged by themselves
	}
	return text, true
}

// extras stand behind a path that a program installs: .[dev,test].
var extras = lazyregexp.New(`\[[\w\s,.-]*\]$`)

// notName is in a word that names more than a subcommand, a target, a package or a branch: a path, a pattern, an assignment.
var notName = lazyregexp.New(`^[.]|[/\\~$*?\[{\s'"` + "`" + `]|\.\.|[^=!<>~]=[^=]|[:@=+][.]|\b(?:file|link|portal):`)

// IsName reports a word that a program takes for the name of something that is no file, if it takes names.
func IsName(s string) bool { return !notName.MatchString(s) }

// isAtHost and isInBox begin a path of another machine, and of a container.
var (
	isAtHost = lazyregexp.New(`^(?:[\w.-]+@)?(?:[\w.-]+|\[[^\]]*\]):`)
	isInBox  = lazyregexp.New(`^(?:[\w-]+/)?[\w-][\w.-]*:`)
)

// HostOf returns what HOST:CONTAINER says about this machine.
func HostOf(spec string) string {
	from := 0
	if chars.IsDrive(spec) {
		from = 2
	} else if _, _, n := DollarName(spec); n > 0 {
		from = n // ${A:-x} has a colon of its own
	}
	host, _, _ := strings.Cut(spec[from:], ":")
	return spec[:from] + host
}
