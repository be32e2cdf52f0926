package sandbox

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// What holds keys, credentials or logins is secret, by a place, a name or a shape; and what only sounds like it is not.
func TestKeysByNameAndShape(t *testing.T) {
	t.Parallel()
	tool := ".local/share/uv/tools/mcp-oauth/bin/mcp-oauth"
	if runtime.GOOS == "windows" {
		tool += ".exe"
	}
	home := t.TempDir()
	for name, text := range map[string]string{
		"a/.gitconfig": "[http]\nextraHeader = x", "b/.gitconfig": "[user]\nname = x", "c/.gitconfig": "[user", ".config/git/config": "[github]\ntoken = x", "d/.config/git/config": "[a]\nb = c",
		tool: "#!/bin/sh", ".config/tool/token": "ghp_x",
		"work/deploy.pem": "-----BEGIN RSA PRIVATE KEY-----", "work/chain.pem": "-----BEGIN CERTIFICATE-----", "work/id_deploy": "-----BEGIN OPENSSH PRIVATE KEY-----", "work/id_map": "1 2",
	} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o600)
		if strings.HasPrefix(text, "#!") {
			mode = 0o700
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{
		"a/.gitconfig", "c/.gitconfig", ".config/git/config",
		".config/sops/age/keys.txt", ".config/age/key.txt", ".bitcoin/wallet.dat", "backup/wallet.dat", ".electrum/wallets/default", ".config/solana/id.json", ".config/google-chrome-beta/Default/Cookies",
		".config/opera/Login Data", ".config/vivaldi/Default/Web Data", ".config/SomeBrowser/Default/Cookies", ".config/App/Local Storage/leveldb/000003.log", ".config/Signal/config.json", ".config/Slack/storage/x",
		".m2/settings.xml", ".gradle/gradle.properties", ".config/containers/auth.json", ".composer/auth.json", ".bash_history", ".zsh_history", ".python_history", ".psql_history", ".local/share/fish/fish_history",
		".ssh/config", ".aws/credentials", ".netrc", ".git-credentials", ".vault-token", ".s3cfg", ".boto", ".pgpass", "work/.env", "work/.env.local", "work/credentials.json", "work/secrets.yaml",
		".config/tool/token", ".config/tool/access_token.json", ".config/tool/credentials.db", ".local/share/tool/auth-cookies.txt", "Library/Application Support/tool/oauth.json", ".config/tool/api-key",
		"keys/id_ed25519", "keys/id_ed25519_sk", "keys/vault.KDBX", "keys/app.keytab", "keys/me.p12", "work/deploy.pem", "work/id_deploy", ".local/share/keyrings/login.keyring", "Library/Keychains/login.keychain-db",
		".config/gh/hosts.yml", ".config/glab-cli/config.yml", ".terraform.d/credentials.tfrc.json", ".config/gcloud/application_default_credentials.json", ".oci/config", ".near-credentials/x.json",
	} {
		if WhySecret(filepath.Join(home, name)) == "" {
			t.Errorf("%s is not secret", name)
		}
	}
	for _, name := range []string{
		"b/.gitconfig", "d/.config/git/config", "e/.gitconfig",
		"work/chain.pem", "work/id_map", "work/id_map.txt", "keys/id_ed25519.pub", "work/tokenizer.json", "work/tokens.css", "work/src/cookies.ts", "work/credential_test.go", "work/Cookies/readme", "work/password-rules.md",
		".config/nvim/init.lua", ".config/app/settings.json", ".config/app/node_modules/js-tokens/index.js", ".local/share/app/notes.md", ".local/share/uv/tools/x/lib/secrets.py", ".cache/app/data", "work/history", "work/my_history", "work/env", "work/settings.xml",
		tool, ".local/share/pnpm/global/5/node_modules/js-tokens", ".local/share/pipx/venvs/x/lib/python3/site-packages/tokenizers/tokenizer.json",
		".local/bin/tool", ".config/containers/registries.conf", "work/Local Storage.md", "Documents/tax.txt",
	} {
		if why := WhySecret(filepath.Join(home, name)); why != "" {
			t.Errorf("%s is secret: %s", name, why)
		}
	}
}
