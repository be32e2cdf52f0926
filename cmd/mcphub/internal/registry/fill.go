package registry

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mcphub/cmd/mcphub/internal/clients/edit"
	"mcphub/internal/lazyregexp"
	"mcphub/internal/printable"
)

// maxText bounds one text of an entry, in bytes.
const maxText = 4 << 10

// A filler finds the values of what an entry asks for.
type filler struct {
	o     Options
	local bool            // a program of this machine gets the values: a path in them is one of its paths
	said  map[string]bool // names that the entry asks for
	out   Install
}

func (f *filler) noteHint(format string, args ...any) {
	f.out.Notes = append(f.out.Notes, fmt.Sprintf(format, args...))
}

// noteMentions remembers that the entry asks for variables which are not looked at.
func (f *filler) noteMentions(all map[string]Input) {
	for name := range all {
		f.said[name] = true
	}
}

var envName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// steering are variables that decide which program runs, what it loads, or the origin of a
// package, by their beginnings; upper case.
var steering = []string{
	"LD_", "DYLD_", "NODE_", "NPM_", "YARN_", "PNPM_", "PYTHON", "UV_", "PIP_", "VIRTUAL_ENV", "DOCKER_", "PODMAN_", "CONTAINER_", "BUILDKIT_",
	"BASH_", "PERL5", "RUBYOPT", "RUBYLIB", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "GIT_", "SSH_", "SSL_CERT_", "SSLKEYLOGFILE", "OPENSSL_", "XDG_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
	"GLIBC_", "GCONV_", "MCPHUB_",
}

// steeringNames are such variables whose beginning is too short to be one.
var steeringNames = []string{"PATH", "HOME", "ENV", "IFS", "SHELL", "USER", "TMPDIR", "TEMP", "TMP", "PATHEXT", "COMSPEC", "SYSTEMROOT", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "BROWSER", "EDITOR", "PAGER"}

// harmless begin as steering variables do, and steer nothing.
var harmless = []string{"NODE_ENV", "PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONUTF8"}

func steersProgram(name string) bool {
	name = strings.ToUpper(name)
	return !slices.Contains(harmless, name) && (slices.Contains(steeringNames, name) ||
		slices.ContainsFunc(steering, func(s string) bool { return strings.HasPrefix(name, s) }))
}

// addVariable adds a variable of the environment.
func (f *filler) addVariable(env *edit.Table, v *KeyValue) error {
	switch {
	case !envName.MatchString(v.Name) || len(v.Name) > 255:
		return fmt.Errorf("%s is no name of a variable", printable.Quote(v.Name))
	case steersProgram(v.Name):
		return fmt.Errorf("the variable %s decides what is run or where it comes from, and an entry may not set it", v.Name)
	case env.Has(v.Name):
		return fmt.Errorf("the variable %s is there twice", v.Name)
	}
	text, ok, err := f.findValue(v.Name, &v.Input)
	if ok && err == nil {
		*env = env.With(v.Name, text)
	}
	return err
}

var argumentName = lazyregexp.New(`^[A-Za-z0-9_.:-]+$`)

// argumentWords returns an argument of the server, in words; none if it is left out.
func (f *filler) argumentWords(a *Argument) ([]any, error) {
	switch a.Type {
	case "positional":
		if a.ValueHint == "" && a.Value == "" {
			return nil, errors.New("a positional argument has neither a value nor a valueHint")
		}
		text, ok, err := f.findValue(cmp.Or(a.ValueHint, a.Value), &a.Input)
		if err != nil || !ok {
			return nil, err
		}
		return []any{text}, nil
	case "named":
		if !argumentName.MatchString(a.Name) || len(a.Name) > 255 {
			return nil, fmt.Errorf("%s is no name of an argument", printable.Quote(a.Name))
		}
		text, ok, err := f.findValue(a.Name, &a.Input)
		switch {
		case err != nil || !ok:
			return nil, err
		case text == "": // the flag alone
			return []any{a.Name}, nil
		case strings.HasPrefix(a.Name, "--"):
			return []any{a.Name + "=" + text}, nil
		}
		return []any{a.Name, text}, nil
	}
	return nil, fmt.Errorf("an argument of the kind %s is not known", printable.Quote(a.Type))
}

// findValue finds the text of one input that is called key. ok false: it is left out.
func (f *filler) findValue(key string, in *Input) (text string, ok bool, err error) {
	f.said[key] = true
	set, isSet := f.o.Set[key]
	asked := slices.Contains(f.o.Ask, key)
	for _, t := range append([]string{key, in.Value, in.Default}, in.Choices...) {
		if err := checkPlain(t); err != nil {
			return "", false, fmt.Errorf("%s: %w", printable.Quote(key), err)
		}
	}
	switch {
	case in.Value != "":
		return f.fixedValue(key, in, set, isSet)
	case in.IsSecret && isSet:
		return "", false, fmt.Errorf("%s is a secret, and a command line is read by others: use --set %s without a value", key, key)
	case asked, in.IsSecret && in.IsRequired:
		return f.askValue(key, in)
	case isSet:
		if in.Format == "filepath" && set != "" && !strings.HasPrefix(set, "~") && !strings.HasPrefix(set, "${") {
			if set, err = filepath.Abs(set); err != nil { // hub.json counts from its own folder
				return "", false, err
			}
		}
		text, err := checkChosen(key, in, set)
		return text, err == nil, err
	case in.Default != "" && !in.IsSecret:
		if f.local && namesPath(in.Default) {
			f.noteHint("it proposes %s for %s, a path of this machine: to take it, add --set %s", printable.Line(in.Default), key, printable.CommandLine([]string{key + "=" + in.Default}))
			break
		}
		text, err := checkChosen(key, in, in.Default)
		return text, err == nil, err
	}
	if in.IsRequired {
		return f.askValue(key, in)
	}
	f.noteHint("%s is left out%s", key, describeInput(in))
	return "", false, nil
}

// fixedValue returns a value that the entry fixes, with the variables in it.
func (f *filler) fixedValue(key string, in *Input, set string, isSet bool) (text string, ok bool, err error) {
	switch {
	case isSet && set != in.Value:
		return "", false, fmt.Errorf("%s is %s, and the entry leaves no choice", key, printable.Line(in.Value))
	case !isSet && f.local && namesPath(variableIn.ReplaceAllString(in.Value, "x")):
		return "", false, fmt.Errorf("it opens %s, a path of this machine: to allow that, add --set %s", printable.Line(in.Value), printable.CommandLine([]string{key + "=" + in.Value}))
	}
	whole := true
	text = variableIn.ReplaceAllStringFunc(in.Value, func(s string) string {
		name := s[1 : len(s)-1]
		v, known := in.Variables[name]
		if !known || err != nil {
			return s
		}
		if v.Value != "" && len(v.Variables) > 0 {
			err = fmt.Errorf("variables of %s hold variables", printable.Quote(name))
			return s
		}
		v.Variables = nil
		v.IsRequired = v.IsRequired || in.IsRequired
		value, given, bad := f.findValue(name, &v)
		if err, whole = bad, whole && given; err == nil && strings.HasSuffix(value, "$") { // "${" of two parts
			err = fmt.Errorf("the value of %s ends with $", printable.Quote(name))
		}
		return value
	})
	if len(text) > 4*maxText {
		return "", false, fmt.Errorf("%s becomes too long", printable.Quote(key))
	}
	return text, whole && err == nil, err
}

var variableIn = lazyregexp.New(`\{[A-Za-z0-9_.-]+\}`)

// inputMark matches a reference that ask has made; a value of an entry holds none.
var inputMark = lazyregexp.New(`\$\{input:[^}]*\}`)

// secretHost matches an address whose host holds a reference.
var secretHost = lazyregexp.New(`^[^/]*(//[^/?#]*)?\$\{input:`)

var notInSecret = lazyregexp.New(`[^A-Za-z0-9_]+`)

// askValue refers to what a person will be asked for.
func (f *filler) askValue(key string, in *Input) (text string, ok bool, err error) {
	base := strings.Trim(f.o.Name, ".-") + "/" + strings.Trim(notInSecret.ReplaceAllString(key, "-"), "-")
	if len(base) > 100 {
		return "", false, fmt.Errorf("%s is too long a name", printable.Quote(key))
	}
	description := printable.Clip(printable.Line(in.Description), 200)
	if len(in.Choices) > 0 {
		description = strings.TrimSpace(description + " (" + strings.Join(in.Choices, ", ") + ")")
	}
	id := base
	for n := 2; f.o.Taken != nil && f.o.Taken(id) || f.holdsInput(id); n++ {
		id = base + "-" + strconv.Itoa(n)
	}
	t := edit.Table{{Name: "id", Value: id}, {Name: "type", Value: "promptString"}}
	if description != "" {
		t = t.With("description", description)
	}
	if in.IsSecret || slices.Contains(f.o.Ask, key) {
		t = t.With("password", true)
	}
	f.out.Inputs = append(f.out.Inputs, t)
	return "${input:" + id + "}", true, nil
}

func (f *filler) holdsInput(id string) bool {
	return slices.ContainsFunc(f.out.Inputs, func(t edit.Table) bool { return t.Get("id") == id })
}

func describeInput(in *Input) string {
	text := ""
	if in.Description != "" {
		text = ": " + printable.Clip(printable.Line(in.Description), 200)
	}
	if in.IsSecret {
		text += " (a secret: --set it without a value)"
	}
	return text
}

// checkChosen holds a value to what the entry says about it.
func checkChosen(key string, in *Input, value string) (string, error) {
	bad := func(want string) error {
		return fmt.Errorf("%s: %s is none of its values: want %s", printable.Quote(key), printable.Quote(value), want)
	}
	if len(in.Choices) > 0 && !slices.Contains(in.Choices, value) {
		return "", bad(printable.List(in.Choices))
	}
	switch in.Format {
	case "", "string", "filepath":
	case "number":
		if _, err := strconv.ParseFloat(value, 64); err != nil {
			return "", bad("a number")
		}
	case "boolean":
		if value != "true" && value != "false" {
			return "", bad("true or false")
		}
	default:
		return "", fmt.Errorf("%s: its format %s is not known", printable.Quote(key), printable.Quote(in.Format))
	}
	return value, nil
}

// checkPlain refuses a text of an entry that would be more than itself in hub.json, or that a
// person would not see as it is.
func checkPlain(s string) error {
	switch {
	case len(s) > maxText:
		return fmt.Errorf("a text of its entry is longer than %d KiB", maxText>>10)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r != ' ' && printable.Hidden(r) }):
		return fmt.Errorf("its entry holds characters that are not seen: %s", printable.Quote(s))
	case strings.Contains(s, "${"):
		return fmt.Errorf("its entry holds %s, which hub.json would replace", printable.Quote(s))
	}
	return nil
}

// namesPath reports a value that names a path of this machine, as a whole or in a part: from
// the top, from home, from the working directory, or by a drive.
func namesPath(value string) bool {
	parts := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune("=,; '\"()[]{}", r) })
	return slices.ContainsFunc(parts, func(p string) bool {
		if rest, is := strings.CutPrefix(strings.ToLower(p), "file:"); is {
			p = "/" + rest
		}
		if drive.MatchString(p) || strings.HasPrefix(p, "~") || p == "." || strings.HasPrefix(p, "./") || strings.HasPrefix(p, `.\`) {
			return true
		}
		address := strings.Contains(p, "://")
		for i, q := range strings.Split(p, ":") { // a list of paths
			if strings.HasPrefix(q, "/") && !(address && i > 0) || strings.HasPrefix(q, `\`) || strings.HasPrefix(q, "~") {
				return true
			}
		}
		return !address && slices.Contains(strings.FieldsFunc(p, func(r rune) bool { return r == '/' || r == '\\' || r == ':' }), "..")
	})
}

var drive = lazyregexp.New(`^[A-Za-z]:[\\/]`)
