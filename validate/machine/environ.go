package machine

import (
	"slices"
	"strings"

	"mcphub/validate/chars"
)

// A child writes out the variables that it has, so the hub reads only those: what its own environment holds beyond that
// (tokens, mostly) is nothing to a child, and a denial must not spell it out.

// passedOn are the variables that every child gets.
var passedOn = chars.WordSet("HOME PATH USER LOGNAME SHELL LANG TERM TZ TMPDIR NODE_EXTRA_CA_CERTS DISPLAY WAYLAND_DISPLAY SSH_AUTH_SOCK DOCKER_HOST PWD OLDPWD")

// passedOnWindows are those that every child there gets as well.
var passedOnWindows = chars.WordSet("ALLUSERSPROFILE APPDATA COMMONPROGRAMFILES COMMONPROGRAMW6432 COMPUTERNAME COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA " +
	"OS PATHEXT PROGRAMDATA PROGRAMFILES PROGRAMW6432 PUBLIC SYSTEMDRIVE SYSTEMROOT TEMP TMP USERDOMAIN USERNAME USERPROFILE WINDIR")

// spokenOf are variables whose value may be told to whoever made a call; others may hold secrets, a proxy's password.
var spokenOf = chars.WordSet("HOME PATH USER LOGNAME SHELL LANG TERM TZ TMPDIR PWD OLDPWD TEMP TMP USERPROFILE APPDATA LOCALAPPDATA PUBLIC SYSTEMROOT WINDIR")

// passing lets through the variables that some child gets.
func passing(getenv func(string) string, inherited []string, windows bool) func(string) string {
	return func(name string) string {
		upper := strings.ToUpper(name)
		switch {
		case passedOn[name], windows && (passedOn[upper] || passedOnWindows[upper]):
		case strings.HasSuffix(upper, "_PROXY"), strings.HasPrefix(name, "LC_"), strings.HasPrefix(name, "XDG_"), strings.HasPrefix(name, "SSL_CERT_"):
		case slices.Contains(inherited, name):
		default:
			return ""
		}
		return getenv(name)
	}
}

// mayTell reports a variable whose value a denial may show.
func mayTell(name string) bool {
	return spokenOf[strings.ToUpper(name)] || strings.HasPrefix(name, "XDG_")
}
