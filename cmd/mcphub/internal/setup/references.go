package setup

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/config/keys"
	"mcphub/cmd/mcphub/internal/secrets"
	"mcphub/internal/reference"
)

// absoluteReferences makes the paths of ${file:PATH} absolute, so that a reference
// says by itself what it means.
func absoluteReferences(f *config.File, text, home string) string {
	out, err := reference.Replace(text, func(r reference.Ref) (string, error) {
		if r.Kind == reference.File {
			r.Name = resolvePath(f, r.Name, home, false)
		}
		return r.Mark(), nil
	})
	if err != nil {
		return text // what holds another NUL fails when the child starts
	}
	return out
}

// configFolder returns the folder of the files of secrets: mcphub in the XDG
// folder of configurations, on Windows below APPDATA. "" if the user has
// none.
func configFolder(env func(string) string) string {
	if dir := env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcphub")
	}
	if dir := env("APPDATA"); runtime.GOOS == "windows" && filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcphub")
	}
	if home := env("HOME"); runtime.GOOS != "windows" && filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "mcphub")
	}
	return ""
}

// Secrets returns the store of the secrets that a file refers to.
func Secrets(f *config.File, home string) secrets.Options {
	return secrets.Options{
		FileOnly: f.Secrets.Store == keys.StoreFile, Dir: configFolder(os.Getenv),
		Identity: resolvePath(f, f.Secrets.Identity, home, false),
	}
}

// secretFiles returns the files that hold secrets, or variables of a child: no call
// may touch them, whatever is in scope.
func secretFiles(f *config.File, home string) []string {
	all := secrets.New(Secrets(f, home)).Files()
	add := func(path string) {
		if path = resolvePath(f, path, home, false); filepath.IsAbs(path) && !strings.Contains(path, "${root") {
			all = append(all, path)
		}
	}
	for i := range f.Servers {
		s := &f.Servers[i]
		add(s.EnvFile)
		if s.TLS != nil {
			add(s.TLS.Key)
		}
		for _, r := range s.References() {
			if r.Kind == reference.File {
				add(r.Name)
			}
		}
	}
	for _, token := range f.HTTP.Tokens {
		add(token.File)
	}
	for _, key := range f.HTTP.StateKey {
		add(key.File)
	}
	if f.HTTP.TLS != nil {
		add(f.HTTP.TLS.Key)
	}
	add(f.Metrics.Token.File)
	return all
}
