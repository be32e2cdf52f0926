package sandbox

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mcphub/children/gitconfig"
)

// This file has the one list of what opens other doors: keys, credentials, and files that
// report what is started.

// keyPlaces are folders and files that hold keys and logins, wherever something has such a name. They are
// written from the home folder on.
var keyPlaces = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", ".pki", ".oci", ".aliyun", ".cloudflared", ".ngrok2", ".fly", ".vercel", ".terraform.d", ".minikube",
	".local/share/keyrings", ".local/share/kwalletd", ".gnome2/keyrings", ".local/share/pass", ".local/share/gopass", ".local/share/com.vercel.cli", "Library/Keychains",
	".config/gcloud", ".config/gh", ".config/glab-cli", ".config/hub", ".config/op", ".config/rclone", ".config/sops", ".config/age", ".config/containers/auth.json", ".config/doctl", ".config/heroku",
	".config/netlify", ".config/configstore", ".config/ngrok", ".config/stripe", ".config/.wrangler", ".config/Bitwarden", ".config/Bitwarden CLI", ".config/1Password", ".config/keepassxc", ".config/KeePass",
	".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties", ".nuget/NuGet", ".composer/auth.json", ".config/composer/auth.json", ".subversion/auth", ".databrickscfg", ".snowflake",
	".mozilla", ".thunderbird", ".librewolf", ".waterfox", ".purple", ".local/share/TelegramDesktop", ".config/Signal", ".config/Signal Beta", ".config/Slack", ".config/discord", ".config/Element", ".config/evolution", ".config/geary",
	".config/google-chrome", ".config/google-chrome-beta", ".config/google-chrome-unstable", ".config/chromium", ".config/microsoft-edge", ".config/microsoft-edge-beta", ".config/microsoft-edge-dev", ".config/BraveSoftware",
	".config/opera", ".config/opera-beta", ".config/vivaldi", ".config/vivaldi-snapshot", "snap/chromium", "snap/firefox",
	"Application Support/Google/Chrome", "Application Support/Firefox", "Application Support/Chromium", "Application Support/BraveSoftware", "Application Support/Microsoft Edge", "Application Support/Signal", "Library/Cookies",
	".electrum", ".bitcoin", ".ethereum", ".monero", ".config/solana", ".config/Exodus", ".local/share/io.parity.ethereum", ".near-credentials", ".foundry/keystores",
}

// keyFiles, keyEnds and keyTexts are files of that kind. profileFiles lie in the profiles of browsers and of programs that are made of one.
var (
	keyFiles = []string{
		".netrc", "_netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".git-credentials", ".pgpass", ".my.cnf", ".mylogin.cnf", ".env", ".envrc.local", ".vault-token", ".boto", ".s3cfg", ".dockercfg", ".htpasswd", ".erlang.cookie", ".Xauthority", ".ICEauthority",
		"credentials", "credentials.json", "credentials.toml", "credentials.tfrc.json", "application_default_credentials.json", "shadow", "gshadow", "sudoers", "krb5.keytab", "wallet.dat", "keystore.json", "secrets.json", "secrets.yaml", "secrets.yml", "secrets.toml",
	}
	keyEnds      = []string{".p12", ".pfx", ".kdbx", ".kdb", ".keystore", ".jks", ".ppk", ".keytab", ".agekey", ".wallet", ".ovpn", ".mobileprovision"}
	keyTexts     = []string{".pem", ".key", ".crt", ".asc", ""} // if there is a private key in them
	profileFiles = []string{"Cookies", "Login Data", "Web Data", "Local State", "Local Storage", "Session Storage", "IndexedDB", "cookies.sqlite", "key3.db", "key4.db", "logins.json", "signons.sqlite"}
)

// keyWords are in the names of files of that kind in folders of settings.
var keyWords = []string{"token", "credential", "cookie", "secret", "passwd", "password", "apikey", "api_key", "api-key", "oauth"}

// StateFolders are the folders below the home folder in which programs make a folder of their own.
var StateFolders = []string{".config", ".cache", ".local/share", ".local/state"}

// settingFolders hold what programs keep for their user.
var settingFolders = []string{".config", ".local/share", ".local/state", "Library", "AppData"}

// clientFiles report what clients start, and hub.json what the hub does. They are
// written from the home folder on, or from the folder that a variable may put
// elsewhere.
var clientFiles = []string{
	".claude.json", ".claude/settings.json", ".claude/settings.local.json", ".claude/.credentials.json", "Claude/claude_desktop_config.json", ".cursor/mcp.json", "Code/User", ".codeium/windsurf/mcp_config.json", "zed/settings.json", "Zed/settings.json",
	".codex/config.toml", ".codex/auth.json", ".gemini/settings.json", ".gemini/oauth_creds.json", "opencode/opencode.json", "opencode/opencode.jsonc", "opencode/config.json",
	"settings/cline_mcp_settings.json", "settings/mcp_settings.json", "goose/config.yaml", "goose/config/config.yaml", ".continue/config.yaml", ".continue/config.json",
	".copilot/mcp-config.json", ".lmstudio/mcp.json", "lm-studio/mcp.json", ".mcporter/mcporter.json", ".mcporter/mcporter.jsonc", ".mcp-inspector/mcp.json",
	".config/mcphub", "hub.json",
}

// loadedFiles are loaded by shells, git, ssh, editors and the desktop, or report what is
// started; a folder of that name holds such files. They are written from the home folder on,
// and count in every folder.
var loadedFiles = []string{
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".kshrc", ".cshrc", ".tcshrc", ".login", ".xprofile", ".xinitrc", ".xsession", ".pam_environment", ".inputrc",
	".gitconfig", ".git", ".config/git", ".vimrc", ".vim", ".exrc", ".emacs", ".emacs.d", ".config/nvim", ".config/fish", ".config/systemd", ".config/autostart", ".config/environment.d", ".local/share/applications", ".local/share/systemd",
	".local/bin", ".vscode", ".vscode-server", ".idea", ".zed", ".envrc", ".bashrc.d", ".tmux.conf", ".ipython", ".pip", ".npm",
	".config/bash", ".config/zsh", ".config/pip", ".config/uv", ".config/go", ".config/direnv", ".config/mise", ".config/vim", ".config/tmux", ".config/kitty", ".config/alacritty", ".config/i3", ".config/sway", ".config/hypr", ".config/gdb", ".config/emacs",
	".config/Code", ".config/helix", ".config/zed", ".local/share/bash-completion", ".local/share/dbus-1", ".local/share/nvim", ".local/share/direnv", ".local/share/mise", ".mcp.json", ".claude", ".cursor", ".codex", ".gemini", ".continue", ".direnv", ".tool-versions", ".pyenv", ".nvm",
}

// Loaded reports whether a path is, or lies in, something that shells, git, ssh, editors or
// clients load.
func Loaded(path string) bool { return findWithin(path, loadedFiles) != "" || ClientFile(path) != "" }

// KeysIn returns a folder of keys that lies in a directory, as it does in a home folder;
// "" for none. It looks at the file system.
func KeysIn(dir string) string {
	for _, name := range []string{".ssh", ".gnupg", ".aws", ".password-store"} {
		if fi, err := os.Lstat(filepath.Join(dir, name)); err == nil && fi.IsDir() {
			return filepath.Join(dir, name)
		}
	}
	return ""
}

// KeyFolder returns the place of keys that a path is or lies in, by the names on the
// path; "" for none.
func KeyFolder(path string) string { return findWithin(path, keyPlaces) }

// ClientFile returns the file or folder of a client's configuration that a path is or
// lies in; "" for none.
func ClientFile(path string) string { return findWithin(path, clientFiles) }

func findWithin(path string, places []string) string {
	path = filepath.ToSlash(path)
	for _, place := range places {
		if isWithin(path, place) {
			return place
		}
	}
	return ""
}

// isWithin reports whether the components of place stand in path one after the other. It allocates nothing: a broker asks
// for each call of a program.
func isWithin(path, place string) bool {
	for begin := 0; ; begin++ {
		at := strings.Index(path[begin:], place)
		if at < 0 {
			return false
		}
		begin += at
		end := begin + len(place)
		if begin > 0 && path[begin-1] == '/' && (end == len(path) || path[end] == '/') {
			return true
		}
	}
}

// IsKey reports whether a file looks like a key or a credential: by its name, by its shape, or by a private key that is written in it.
func IsKey(path string) bool {
	name, end := filepath.Base(path), filepath.Ext(path)
	lower := strings.ToLower(name)
	switch {
	case slices.Contains(keyFiles, name), strings.HasPrefix(name, ".env."), slices.Contains(keyEnds, strings.ToLower(end)), isHistory(name), isProfileFile(path):
		return true
	case isSetting(path) && !isCode(path, end) && slices.ContainsFunc(keyWords, func(word string) bool { return strings.Contains(lower, word) }):
		return true
	case name == ".gitconfig", strings.HasSuffix(filepath.ToSlash(path), "/git/config"):
		text, err := readStart(path, gitconfig.MaxSize+1)
		return !errors.Is(err, fs.ErrNotExist) && (err != nil || len(text) > gitconfig.MaxSize || gitconfig.WhySecret(text) != "")
	case strings.HasPrefix(name, "id_") && end != ".pub" && slices.Contains(keyNames, strings.TrimSuffix(name, end)):
		return true
	case end == "" && !strings.HasPrefix(name, "id_"), !slices.Contains(keyTexts, end):
		return false
	}
	return holdsPrivateKey(path)
}

// keyNames are what ssh-keygen(1) calls keys.
var keyNames = []string{"id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "id_xmss"}

// isHistory reports whether a file keeps what the user has typed, passwords among it.
func isHistory(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, "_history") || name == ".histfile" || name == ".zhistory" || name == ".lesshst" || name == "fish_history"
}

// isProfileFile reports a file in the profile of a browser, or of a program that is made of one, below a folder of settings.
func isProfileFile(path string) bool {
	if !isSetting(path) {
		return false
	}
	for at := path; filepath.Dir(at) != at; at = filepath.Dir(at) {
		if slices.Contains(profileFiles, filepath.Base(at)) {
			return true
		}
	}
	return false
}

// isSetting reports whether a path lies in a folder of settings.
func isSetting(path string) bool { return findWithin(path, settingFolders) != "" }

// packageFolders hold programs, below folders of settings too.
var packageFolders = []string{"node_modules", "site-packages", ".pnpm"}

// isCode reports whether a file of this end is a program or a part of one, whatever it is about.
func isCode(path, end string) bool {
	if findWithin(path, packageFolders) != "" {
		return true
	}
	if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
		return true
	}
	switch end {
	case ".js", ".mjs", ".cjs", ".ts", ".mts", ".py", ".pyc", ".pyi", ".go", ".rs", ".rb", ".php", ".java", ".class", ".so", ".exe", ".dll", ".cmd", ".bat", ".ps1", ".md", ".map", ".css", ".html", ".h", ".c", ".svg", ".png":
		return true
	}
	return false
}

func holdsPrivateKey(path string) bool {
	text, err := readStart(path, 64<<10)
	return err != nil && !errors.Is(err, fs.ErrNotExist) || bytes.Contains(text, []byte("PRIVATE KEY"))
}

// readStart reads the first bytes of a regular file.
func readStart(path string, most int64) ([]byte, error) {
	if fi, err := os.Stat(path); err != nil || !fi.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have become a pipe
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// WhySecret returns why no link may lead to a path, and no server is proposed it; "" if it may.
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

// SecretIn returns one of the places of keys and of clients' configuration below home that
// a directory holds; "" for none. It goes by names, but for the ones that any folder may
// have.
func SecretIn(dir, home string) string {
	if !Contains(dir, home) && !Contains(home, dir) {
		return "" // it holds nothing of home
	}
	for _, list := range [][]string{keyPlaces, clientFiles} {
		for _, place := range list {
			hidden := strings.HasPrefix(place, ".") && filepath.Ext(filepath.Base(place)[1:]) == "" // a folder
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
	for _, list := range [][]string{keyPlaces, clientFiles} {
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
