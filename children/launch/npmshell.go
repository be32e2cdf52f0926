package launch

import "strings"

// This file is about the script shell that the hub gives to npx. npm runs the program of a package by it, from npm's own
// working directory. Only then does the shell enter the working directory of the child, and take away what the child is not to
// see. Install scripts of packages run in the directory in which npm starts them. On Windows the shell is this program
// (process.RunNpmShell): cmd.exe would read the arguments of the server.

// WorkdirVariable names the working directory of the child to the shell.
const WorkdirVariable = "MCPHUB_WORKDIR"

// npmShell is the shell on Unix.
const npmShell = `#!/bin/sh
if [ "$npm_lifecycle_event" = npx ] && [ -n "$MCPHUB_WORKDIR" ]; then
	cd -- "$MCPHUB_WORKDIR" || exit 1
	unset MCPHUB_WORKDIR npm_config_script_shell npm_config_prefix npm_config_local_prefix INIT_CWD
fi
exec /bin/sh "$@"
`

// npmWords splits what npm 9 and later have their script shell run: the name of a program, and each argument in the single
// quotes of sh if it needs any. ok is false if the text is anything else.
func npmWords(text string) (words []string, ok bool) {
	var word strings.Builder
	within := false
	for rest := text; rest != ""; {
		c := rest[0]
		rest = rest[1:]
		switch {
		case c == ' ':
			if within {
				words = append(words, word.String())
				word.Reset()
			}
			within = false
			continue
		case c == '\'':
			quoted, after, closed := strings.Cut(rest, "'")
			if !closed {
				return nil, false
			}
			word.WriteString(quoted)
			rest = after
		case c == '\\' && strings.HasPrefix(rest, "'"):
			word.WriteByte('\'')
			rest = rest[1:]
		case strings.IndexByte("\t\n\r\"#$&()*;<>?\\`|~", c) >= 0:
			return nil, false
		default:
			word.WriteByte(c)
		}
		within = true
	}
	if within {
		words = append(words, word.String())
	}
	return words, len(words) > 0
}
