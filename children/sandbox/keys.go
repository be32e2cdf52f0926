package sandbox

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// This file has the one list of what opens other doors: keys, credentials, and files that
// say what is started.

// keyFolders hold keys and logins, wherever a folder has such a name. They are written
// from the home folder on.
var keyFolders = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", ".mozilla", ".thunderbird",
	".local/share/keyrings", ".local/share/kwalletd", ".config/gcloud", ".config/gh", ".config/op", ".config/rclone",
	".config/google-chrome", ".config/chromium", ".config/microsoft-edge", ".config/BraveSoftware",
}

// keyFiles, keyEnds and keyTexts are files of that kind.
var (
	keyFiles = []string{".netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass", ".my.cnf", ".env", ".vault-token", "credentials", "credentials.json", "credentials.toml", "shadow", "gshadow", "sudoers", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"}
	keyEnds  = []string{".p12", ".pfx", ".kdbx", ".keystore", ".jks", ".ppk"}
	keyTexts = []string{".pem", ".key", ".crt"} // where there is a private key in them
)

// clientFiles say what clients start, and hub.json what the hub does. They are written
// from the home folder on, or from the folder that a variable may put elsewhere.
var clientFiles = []string{
	".claude.json", ".claude/settings.json", ".claude/settings.local.json", ".claude/.credentials.json", "Claude/claude_desktop_config.json", ".cursor/mcp.json", "Code/User", ".codeium/windsurf/mcp_config.json", "zed/settings.json", "Zed/settings.json",
	".codex/config.toml", ".codex/auth.json", ".gemini/settings.json", ".gemini/oauth_creds.json", "opencode/opencode.json", "opencode/opencode.jsonc", "opencode/config.json",
	"settings/cline_mcp_settings.json", "settings/mcp_settings.json", "goose/config.yaml", "goose/config/config.yaml", ".continue/config.yaml", ".continue/config.json",
	".copilot/mcp-config.json", ".lmstudio/mcp.json", "lm-studio/mcp.json", ".mcporter/mcporter.json", ".mcporter/mcporter.jsonc", ".mcp-inspector/mcp.json",
	".config/mcphub", "hub.json",
}

// loadedFiles are loaded by shells, git, ssh, editors and the desktop, or say what is
// started; a folder of that name holds such files. They are written from the home folder on,
// and count in every folder.
var loadedFiles = []string{
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".kshrc", ".cshrc", ".tcshrc", ".login", ".xprofile", ".xinitrc", ".xsession", ".pam_environment", ".inputrc",
	".gitconfig", ".git", ".config/git", ".vimrc", ".vim", ".exrc", ".emacs", ".emacs.d", ".config/nvim", ".config/fish", ".config/systemd", ".config/autostart", ".config/environment.d", ".local/share/applications", ".local/share/systemd",
	".local/bin", ".vscode", ".vscode-server", ".idea", ".zed", ".envrc", ".mcp.json", ".claude", ".cursor", ".codex", ".gemini", ".continue", ".direnv", ".tool-versions", ".pyenv", ".nvm",
}

// Loaded reports whether a path is, or lies in, something that shells, git, ssh, editors or
// clients load.
func Loaded(path string) bool { return within(path, loadedFiles) != "" || ClientFile(path) != "" }

// KeysIn is a folder of keys that lies in a directory, as it does in a home folder; "" for
// none. It looks at the file system.
func KeysIn(dir string) string {
	for _, name := range []string{".ssh", ".gnupg", ".aws", ".password-store"} {
		if fi, err := os.Lstat(filepath.Join(dir, name)); err == nil && fi.IsDir() {
			return filepath.Join(dir, name)
		}
	}
	return ""
}

// KeyFolder is the folder of keys that a path is or lies in, by the names on the path; ""
// for none.
func KeyFolder(path string) string { return within(path, keyFolders) }

// ClientFile is the file or folder of a client's configuration that a path is or lies in;
// "" for none.
func ClientFile(path string) string { return within(path, clientFiles) }

func within(path string, places []string) string {
	path = filepath.ToSlash(path) + "/"
	for _, place := range places {
		if strings.Contains(path, "/"+place+"/") {
			return place
		}
	}
	return ""
}

// IsKey reports whether a file looks like a key or a credential.
func IsKey(path string) bool {
	name := filepath.Base(path)
	switch {
	case slices.Contains(keyFiles, name), strings.HasPrefix(name, ".env."), slices.Contains(keyEnds, filepath.Ext(name)):
		return true
	case !slices.Contains(keyTexts, filepath.Ext(name)):
		return false
	}
	fi, err := os.Stat(path)
	if err != nil || !fi.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return true
	}
	defer func() { _ = f.Close() }()
	text, _ := io.ReadAll(io.LimitReader(f, 64<<10))
	return bytes.Contains(text, []byte("PRIVATE KEY"))
}

// WhySecret says why no link may lead to a path, and no server is proposed it; "" where it may.
func WhySecret(path string) string {
	if folder := KeyFolder(path); folder != "" {
		return "keys and credentials are kept in " + filepath.Base(folder)
	}
	if ClientFile(path) != "" {
		return "it says what a client or the hub starts"
	}
	if IsKey(path) {
		return "it looks like a key or a credential"
	}
	return ""
}

// SecretIn is one of the places of keys and of clients' configuration below home that
// a directory holds; "" for none. It goes by names, but for those that any folder may have.
func SecretIn(dir, home string) string {
	for _, list := range [][]string{keyFolders, clientFiles} {
		for _, place := range list {
			hidden := strings.HasPrefix(place, ".")
			if place = filepath.Join(home, place); !Contains(dir, place) {
				continue
			}
			if _, err := os.Lstat(place); hidden || err == nil {
				return place
			}
		}
	}
	return ""
}

// SameSecret reports whether two paths name the same in a folder of keys or of a client's
// configuration, or as a file of that kind: a link to the whole of such a folder leaves
// that as it is.
func SameSecret(a, b string) bool {
	return a == b || secretTail(a) != "" && secretTail(a) == secretTail(b)
}

func secretTail(path string) string {
	path = filepath.ToSlash(path) + "/"
	at := -1
	for _, list := range [][]string{keyFolders, clientFiles} {
		for _, place := range list {
			if i := strings.Index(path, "/"+place+"/"); i >= 0 && (at < 0 || i < at) {
				at = i
			}
		}
	}
	switch {
	case at >= 0:
		return path[at:]
	case IsKey(filepath.Clean(path)):
		return filepath.Base(path)
	}
	return ""
}
