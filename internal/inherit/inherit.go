package inherit

import (
	"slices"
	"strings"
)

// everywhere are the variables that every child gets.
var everywhere = []string{
	"HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TZ", "TMPDIR", "NODE_EXTRA_CA_CERTS",
	"DISPLAY", "WAYLAND_DISPLAY", "SSH_AUTH_SOCK", "DOCKER_HOST",
}

// onWindows are those without which programs there do not start.
var onWindows = []string{
	"ALLUSERSPROFILE", "APPDATA", "COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "COMMONPROGRAMW6432", "COMPUTERNAME", "COMSPEC",
	"HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA",
	"PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "PUBLIC", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERDOMAIN",
	"USERNAME", "USERPROFILE", "WINDIR",
}

// Always reports whether every child gets a variable. On Windows names have no case.
func Always(name string, windows bool) bool {
	upper := strings.ToUpper(name)
	if windows {
		name = upper
	}
	return strings.HasSuffix(upper, "_PROXY") ||
		strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "SSL_CERT_") ||
		slices.Contains(everywhere, name) || windows && slices.Contains(onWindows, name)
}
