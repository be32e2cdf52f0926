package shell

import (
	"path"
	"strings"

	"mcphub/validate/chars"
)

// MatchesOnWindows reports whether some program of Windows may take a name for one that a pattern matches. Letter case does not count. "?" may
// match nothing. The short name of a file has an extension of three letters, so *.htm matches a.html, and what its other letters are is not
// known.
func MatchesOnWindows(pattern, name string) bool {
	if strings.IndexByte(pattern, '~') >= 0 {
		return true
	}
	pattern = bracket.ReplaceAllString(Unhide.Replace(pattern), "*")
	pattern = strings.NewReplacer("?", "*", "*.*", "*", "[", `\[`).Replace(pattern)
	if dot := strings.LastIndexByte(pattern, '.'); dot >= 0 && len(pattern)-dot == 4 {
		pattern += "*"
	}
	pattern = strings.TrimSuffix(pattern, ".") // of names without an extension
	ok, err := path.Match(chars.FoldName(pattern), chars.FoldName(name))
	return ok || err != nil
}
