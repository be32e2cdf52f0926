package entry

import (
	"slices"
	"strings"
	"unicode"
)

// Variables of which the value is a list of places where code is looked for.
var searched = []string{
	"PATH", "PYTHONPATH", "NODE_PATH", "PERL5LIB", "RUBYLIB", "CLASSPATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES",
	"GEM_PATH", "GOPATH", "LUA_PATH", "R_LIBS", "JULIA_LOAD_PATH", "PKG_CONFIG_PATH",
}

// Variables of which the value is a command that a shell runs.
var commands = []string{"GIT_SSH_COMMAND", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_EXTERNAL_DIFF", "EDITOR", "VISUAL", "PAGER", "BROWSER", "PROMPT_COMMAND"}

// Variables that name a place of code, which their words do not tell.
var runs = []string{
	"PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV", "CONDA_PREFIX", "NVM_DIR", "PYENV_ROOT", "RBENV_ROOT", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "VOLTA_HOME",
	"DENO_INSTALL", "BUN_INSTALL", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME", "JDK_HOME", "ANDROID_HOME", "ANDROID_SDK_ROOT", "DOTNET_ROOT", "M2_HOME", "GRADLE_HOME",
	"GOROOT", "GOMODCACHE", "GEM_HOME", "BUNDLE_PATH", "NPM_CONFIG_PREFIX", "PLAYWRIGHT_BROWSERS_PATH", "PUPPETEER_CACHE_DIR", "CHROME_PATH",
	"SHELL", "SSH_ASKPASS", "SUDO_ASKPASS", "GIT_SSH", "GIT_ASKPASS", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR",
}

// Variables that name a place of configuration, or a list of them, likewise.
var obeyed = []string{
	"BASH_ENV", "ENV", "ZDOTDIR", "INPUTRC", "BUNDLE_GEMFILE", "GIT_DIR", "GIT_COMMON_DIR", "KUBECONFIG", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_DIRS",
	"PGPASSFILE", "PGSERVICEFILE", "PGSYSCONFDIR", "NETRC", "CURL_HOME", "WGETRC", "PHPRC", "PHP_INI_SCAN_DIR", "TERMINFO", "FONTCONFIG_FILE", "FONTCONFIG_PATH",
}

// Words in the name of a flag or variable by which its value is code, or configuration.
var (
	codeWords   = []string{"exec", "executable", "binary", "bin", "interpreter", "plugin", "plugins", "extension", "extensions", "hook", "hooks", "preload", "require", "loader", "script", "scripts", "addon", "addons", "jar", "classpath"}
	configWords = []string{"config", "configs", "conf", "cfg", "configuration", "settings", "rc", "rcfile", "dotenv", "cert", "certs", "ca", "cacert"}
)

// useOf returns what the value of a flag or variable is for, by its name.
func useOf(name string) Use {
	upper := strings.ToUpper(name)
	switch {
	case slices.Contains(runs, upper):
		return Code
	case slices.Contains(obeyed, upper), name == "-c", strings.HasPrefix(upper, "GIT_CONFIG"):
		return Config
	}
	use := Data
	words := wordsOf(name)
	for i, word := range words {
		switch {
		case slices.Contains(codeWords, word):
			return Code
		case slices.Contains(configWords, word), strings.HasSuffix(word, "config"), strings.HasPrefix(word, "config"), strings.HasSuffix(word, "rc") && len(word) > 4,
			word == "env" && i+1 < len(words) && words[i+1] == "file":
			use = Config
		}
	}
	return use
}

// isFolder reports whether the name of a flag or variable reports that its value is a folder.
func isFolder(name string) bool {
	return slices.ContainsFunc(wordsOf(name), func(word string) bool {
		switch word {
		case "dir", "directory", "dirs", "directories", "folder", "folders", "root", "home", "vault", "workspace", "dirname":
			return true
		}
		return strings.HasSuffix(word, "dir") || strings.HasSuffix(word, "folder")
	})
}

// wordsOf returns the words of a name in lower case: --user-data-dir, USER_DATA_DIR
// and userDataDir have the same.
func wordsOf(name string) (words []string) {
	from := -1
	end := func(i int) {
		if from >= 0 {
			words = append(words, strings.ToLower(name[from:i]))
		}
		from = -1
	}
	lower := false
	for i, c := range name {
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			end(i)
		case unicode.IsUpper(c) && lower:
			end(i)
			from = i
		case from < 0:
			from = i
		}
		lower = unicode.IsLower(c)
	}
	end(len(name))
	return words
}
