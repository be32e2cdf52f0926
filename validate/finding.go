package validate

import (
	"strings"

	"mcphub/validate/access"
	"mcphub/validate/declare"
	"mcphub/validate/shell"
)

// How a string was recognised. The values are stable: audit lines and explain print them.
const (
	HowDeclared = declare.ByOperator // in hub.json
	HowProfile  = declare.ByProfile  // the built-in profile of the server
	HowKey      = "key"              // the name of the argument (rule 1)
	HowDefault  = "default"          // the schema's default for an argument that is absent
	HowHeader   = "header"           // the header of a patch (rule 5)
	HowMember   = "member"           // a member name below a path-like key, or one that is a path itself
	HowAbsolute = "absolute"         // rule 2
	HowHome     = "home"             // ~, ~user, $HOME
	HowDrive    = "drive"            // C:\x
	HowUNC      = "unc"              // \\host\share
	HowClimbs   = "climbs"           // a ".." segment
	HowFileURI  = "file-uri"         // a file: URI, whole or inside other text
	HowScheme   = "scheme"           // sqlite:, unix:, jar:, vscode://file ...
	HowTail     = "tail"             // after "=", "@", a ref's colon or a short flag
	HowList     = "list"             // one part of a joined list
	HowShell    = "shell"            // a word of a shell string (rule 4)
	HowLiteral  = "literal"          // a word inside a longer string (rule 8)
	HowLink     = "link"             // a relative name that a symlink leads out (rule 2)
	HowURI      = "uri"              // the URI of a resource (V7)
	HowResource = "resource"         // a URI of a scheme that has prefixes (R16)
)

// Finding is one string, or part of one, that was taken for a path.
type Finding struct {
	Pointer string // RFC 6901, through strings that hold JSON
	Raw     string // the whole string as sent, decoded from JSON, at most 4 KiB of it
	Value   string // the part of it that is a path
	Role    access.Role
	How     string // one of the How constants
	Member  bool   // it is a member name, not a value
	Base    string // pointer of the argument it starts from, "" unless declared
	BaseDir string // the value found there

	form       form
	alts       []string     // other spellings of the text: untrimmed, or where a scheme is ambiguous
	node       int32        // node it was found in
	rewritable rewritable   // of the whole string, where it may have to be rewritten
	context    bool         // the argument says where a tool works, not on what (cwd, projectRoot)
	assumed    bool         // the role is only guessed
	written    bool         // it stands after a redirection
	weak       bool         // it counts only for what is there
	inShell    bool         // it is a word of a command
	operand    bool         // it is a word that a program is given: of a command, a vector or SQL
	makes      bool         // it names what need not be there yet
	runs       bool         // it stands where a program does: it is run, not read or written
	course     shell.Course // where cd went before it, in a shell string
	glob       string       // the pattern, where it is one of a shell
	instead    string       // the relative name that the text before an absolute tail may begin: it counts where there is none
	declare    string       // pointer with stars, for the line that would declare it
}

// form is how a value has to be read.
type form uint8

const (
	formPath    form = iota
	formURI          // a file: URI
	formWord         // a word: counts only where it leads outside and exists or could be created
	formLiteral      // a word of a longer string: counts only where it names something outside (rule 8)
	formText         // a file: URI in a longer string: likewise, and one component is enough
	formLink         // a relative name: counts only where a symlink leads it outside
	formName         // a name without a slash: counts only where it is such a symlink itself
	formGlob         // a pattern of a shell string: counts only where it matches such a symlink
)

// Does is what the call does with the path, for people: a word of a command that is neither written to nor made is read,
// and where nothing says what a tool does it may be either.
func (f *Finding) Does() string {
	switch {
	case f.Role != access.Write || f.written || f.makes:
	case f.inShell:
		return "read"
	case f.assumed:
		return "read or write"
	}
	return f.Role.String()
}

// Conditional reports whether the finding counts only under a condition that Judge looks up.
func (f *Finding) Conditional() bool { return f.form >= formWord }

// relative reports a finding that counts only for the symlink on its way.
func (f *Finding) relative() bool { return f.form >= formLink }

// plausible reports whether the string may be something else than a path, so that a declaration is worth suggesting.
func (f *Finding) plausible() bool {
	switch f.How {
	case HowDeclared, HowProfile, HowFileURI, HowURI, HowScheme, HowDefault:
		return false
	}
	return !strings.HasPrefix(strings.TrimSpace(f.Raw), "-")
}
