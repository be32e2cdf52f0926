package config

import (
	"fmt"
	"os"
	"strings"

	"mcphub/cmd/mcphub/internal/config/hubfile"
	"mcphub/cmd/mcphub/internal/config/jsonc"
	"mcphub/cmd/mcphub/internal/config/keys"
	"mcphub/internal/lazyregexp"
	"mcphub/internal/reference"
)

// maxNesting bounds defaults inside of defaults.
const maxNesting = 8

// laterName matches the placeholders that only a child's start can fill.
var laterName = lazyregexp.New(`^(root|roots|root:.*)$`)

// laterText finds them in the value of a variable, in which they mean nothing.
var laterText = lazyregexp.New(`(?s)\$\{(root|roots|root:[^}]*)\}`)

// expandError reports why a text could not be expanded. It names variables, never values.
type expandError struct{ text, hint string }

// expander replaces the placeholders of one text.
type expander struct {
	env     func(string) (string, bool)
	later   bool // ${root} and its like stay
	secrets bool // references to secrets become marks
	missing []string
	roots   bool // one of them was seen
}

// expandText replaces ${VAR}, ${VAR:-default}, ${env:VAR}, ${env:VAR:-default},
// ${userHome}, ${pathSeparator} and ${/}; "$${" is a literal "${". A default
// may hold placeholders of its own; the value of a variable never does.
// ${keyring:NAME}, ${input:ID} and ${file:PATH} become marks.
func (e *expander) expandText(s string, depth int) (string, *expandError) {
	var out strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			out.WriteString(s)
			return out.String(), nil
		}
		if i > 0 && s[i-1] == '$' {
			out.WriteString(s[:i-1])
			if e.later && escapesLater(s[i:]) {
				out.WriteByte('$') // the child's start takes the escape away
			}
			out.WriteString("${")
			s = s[i+2:]
			continue
		}
		out.WriteString(s[:i])
		body, rest, closed := splitPlaceholder(s[i+2:])
		if !closed {
			return "", &expandError{`"${" without "}"`, `write "$${" where it is meant as it stands`}
		}
		v, err := e.expandOne(body, depth)
		if err != nil {
			return "", err
		}
		out.WriteString(v)
		s = rest
	}
}

// longestLater bounds the name of a root, so that a text of many escapes is not
// searched to its end for each.
const longestLater = 512

// escapesLater reports that s begins with ${root} or its like.
func escapesLater(s string) bool {
	body, _, closed := splitPlaceholder(s[2:min(len(s), 2+longestLater)])
	return closed && laterName.MatchString(body)
}

// splitPlaceholder splits what follows "${" at the brace that closes it.
func splitPlaceholder(s string) (body, rest string, closed bool) {
	for i, open := 0, 1; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], "${"):
			open++
			i++
		case s[i] == '}':
			if open--; open == 0 {
				return s[:i], s[i+1:], true
			}
		}
	}
	return "", "", false
}

func (e *expander) expandOne(body string, depth int) (string, *expandError) {
	switch {
	case laterName.MatchString(body):
		e.roots = true
		return "${" + body + "}", nil
	case body == "workspaceFolder": // what editors call the first root
		e.roots = true
		return "${root}", nil
	case body == "/", body == "pathSeparator":
		return string(os.PathSeparator), nil
	case body == "userHome":
		return e.expandVariable(hubfile.HomeVariable(), "", false, depth)
	}
	if k, name, ok := reference.KindOf(body); ok {
		return e.markReference(k, name, depth)
	}
	name, def, hasDef := strings.Cut(body, ":-")
	bare, explicit := strings.CutPrefix(name, "env:")
	switch {
	case explicit && keys.CheckVariable(bare) == "":
		return e.expandVariable(bare, def, hasDef, depth)
	case !explicit && keys.IsPlainVariable(name):
		return e.expandVariable(name, def, hasDef, depth)
	}
	return "", &expandError{fmt.Sprintf("${%s} is nothing that can be replaced", quotedInside(name)),
		`write ${NAME}, ${NAME:-default} or ${env:NAME}, or "$${" where it is meant as it stands`}
}

// wherePlaced names the places at which a reference may stand.
var wherePlaced = &expandError{"a reference to a secret has no meaning here", "${keyring:NAME}, ${input:ID} and ${file:PATH} may stand in args, env, headers and url of an entry"}

// markReference makes the mark of one reference. A path may hold variables.
func (e *expander) markReference(k reference.Kind, name string, depth int) (string, *expandError) {
	if !e.secrets {
		return "", wherePlaced
	}
	if k != reference.File {
		if bad := reference.CheckName(name); bad != "" {
			return "", &expandError{quotedInside(name) + " " + bad, ""}
		}
		return reference.Ref{Kind: k, Name: name}.Mark(), nil
	}
	in := expander{env: e.env}
	path, bad := in.expandText(name, depth)
	e.missing = append(e.missing, in.missing...)
	switch {
	case bad != nil:
		return "", bad
	case in.roots:
		return "", &expandError{"${root} and ${roots} have no meaning in ${file:PATH}", "a secret lies outside of the roots: name the file by its path"}
	case strings.TrimSpace(path) == "" && len(in.missing) == 0:
		return "", &expandError{"${file:} names no file", "write ${file:PATH}"}
	}
	return reference.Ref{Kind: k, Name: path}.Mark(), nil
}

func (e *expander) expandVariable(name, def string, hasDef bool, depth int) (string, *expandError) {
	v, set := e.env(name)
	switch {
	case strings.ContainsRune(v, 0):
		return "", &expandError{fmt.Sprintf("the variable %s holds a NUL character, which no program, path or name can", quotedInside(name)), ""}
	case hasDef && v == "":
		if depth >= maxNesting {
			return "", &expandError{fmt.Sprintf("more than %d defaults inside of each other", maxNesting), ""}
		}
		return e.expandText(def, depth+1)
	case !set:
		e.missing = append(e.missing, name)
		return "", nil
	case e.later:
		return laterText.ReplaceAllString(v, "$$$0"), nil
	}
	return v, nil
}

// unsetError returns which variables are missing, or nil.
func (e *expander) unsetError() *expandError {
	switch len(e.missing) {
	case 0:
		return nil
	case 1:
		n := e.missing[0]
		return &expandError{fmt.Sprintf("the variable %s is not set", quotedInside(n)), fmt.Sprintf("set it for the hub, or give a default: ${%s:-...}", quotedInside(n))}
	}
	names := make([]string, len(e.missing))
	for i, n := range e.missing {
		names[i] = quotedInside(n)
	}
	return &expandError{"the variables " + strings.Join(names, ", ") + " are not set", "set them for the hub, or give defaults: ${NAME:-...}"}
}

// quotedInside is quote without the quotes.
func quotedInside(s string) string {
	q := jsonc.Quote(s)
	return q[1 : len(q)-1]
}
