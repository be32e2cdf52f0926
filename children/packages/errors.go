package packages

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/internal/lazyregexp"
	"mcphub/internal/printable"
)

// An InstallError means that a package could not be installed, and what helps.
type InstallError struct {
	Package string // as hub.json names it
	Manager string
	Said    string // the last of what the manager wrote; may be ""
	Hint    string
	Err     error
}

func (e *InstallError) Error() string {
	text := fmt.Sprintf("%s could not be installed by %s: %v", e.Package, e.Manager, e.Err)
	if e.Said != "" {
		text += ": " + e.Said
	}
	return text + "; " + e.Hint
}

// Unwrap returns the cause.
func (e *InstallError) Unwrap() error { return e.Err }

// What a manager writes if there is no network, and if there is no such package.
var (
	noNetwork = lazyregexp.New(`ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED|ERR_SOCKET_TIMEOUT|ConnectionRefused|FailedToOpenSocket|(?i)network|dns error|error sending request|failed to fetch|connection (?:refused|reset|timed)|name resolution`)
	noPackage = lazyregexp.New(`E404|ETARGET|404 Not Found|(?i)no matching version|not found in the package registry|no matching distribution|No solution found|no candidates found`)
	noTrust   = lazyregexp.New(`SELF_SIGNED_CERT|UNABLE_TO_(?:GET|VERIFY)|CERT_(?:HAS|UNTRUSTED)|(?i)UnknownIssuer|certificate verify failed|invalid peer certificate`)
	noAccess  = lazyregexp.New(`E401|E403|ENEEDAUTH|401 Unauthorized|403 Forbidden`)
)

// commandLine returns a command line of this program that is about the server.
func (r *Request) commandLine(command string) string {
	return printable.CommandLine(printable.BuildCommand("mcphub "+command, nil, r.Name))
}

// installError returns the error of an install.
func (r *Request) installError(said string, err error) error {
	e := &InstallError{Package: r.packageNames(), Manager: r.Package.Manager, Said: lastWords(said), Err: err}
	again := r.commandLine("warm") + " tries again"
	switch {
	case noPackage.MatchString(said):
		e.Hint = "correct its name and version in hub.json; " + again
	case noAccess.MatchString(said):
		e.Hint = "the registry asks for a login: " + r.settingsHint() + "; " + again
	case noTrust.MatchString(said):
		e.Hint = "the certificate of the registry is not trusted: name the file of its authority in NODE_EXTRA_CA_CERTS or SSL_CERT_FILE, in the hub's environment, and where the sandbox opens it (/etc/ssl/certs, or sandbox.read); " + again
	case noNetwork.MatchString(said):
		e.Hint = "it is downloaded once: connect to the network; " + again
		settings := filepath.Join(r.Machine.Home(), ".npmrc")
		if _, err := os.Stat(settings); err == nil && !r.Package.IsPython() && !r.Program.Reads(settings) {
			e.Hint += ". " + r.settingsHint()
		}
	default:
		e.Hint = r.commandLine("logs") + " shows what it wrote; " + again
	}
	return e
}

// settingsHint returns how a manager is let read the user's.
func (r *Request) settingsHint() string {
	file := "~/.npmrc"
	if r.Package.IsPython() {
		file = "~/.config/uv/uv.toml"
	}
	return fmt.Sprintf("the install does not read %s, where tokens are kept; \"sandbox\": {\"read\": [%q]} in its entry lets it, and the server too", file, file)
}

// asides are lines of npm that say nothing about what went wrong.
var asides = []string{"A complete log of this run", "Note that you can also install", "tarball, folder, http url"}

// lastWords returns the end of a text in one line.
func lastWords(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
	out := ""
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimPrefix(strings.Join(strings.Fields(strings.TrimPrefix(lines[i], "npm error")), " "), "404 ")
		if len(line) < 4 || slices.ContainsFunc(asides, func(a string) bool { return strings.HasPrefix(line, a) }) {
			continue
		}
		if len(line)+len(out) > maxSaid {
			break
		}
		if out != "" {
			line += " / " + out
		}
		out = line
	}
	return out
}
