package doctor

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/launch"
	"mcphub/children/process"
	"mcphub/children/sandbox"
	"mcphub/internal/lazyregexp"
)

// gitWord is git as a word of its own: mcp-server-git, and not github.
var gitWord = lazyregexp.New(`(^|[^a-z])git([^a-z]|$)`)

// gitTime is how long git may take to tell a setting.
const gitTime = 2 * time.Second

// A Signing is what the user's git does with commits.
type Signing string // "": it signs none

// SigningOf asks git whether it signs commits, and by what.
func SigningOf(ctx context.Context, home string, log zerolog.Logger) Signing {
	get := func(args ...string) string {
		ctx, cancel := context.WithTimeout(ctx, gitTime)
		defer cancel()
		git := programNear("git", "git")
		if git == "" {
			return ""
		}
		said, err := process.RunForOutput(ctx, launch.Launch{Command: git, Args: append([]string{"config", "--global", "--includes"}, args...), Env: append(plainEnvironment(), setVariables("XDG_CONFIG_HOME")...), Dir: home}, maxOutput, log)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(said)
	}
	switch {
	case get("--type=bool", "--get", "commit.gpgsign") != "true":
		return ""
	case get("--get", "gpg.format") == "ssh":
		return "ssh-agent"
	}
	return "gpg-agent"
}

// Fails reports that a server cannot sign the commits that it makes because the kernel
// holds it, and what mends it; "" if it signs none, or makes none as far as its command
// tells.
func (s Signing) Fails(command string, args []string, kernel string) (text, cure string) {
	held := kernel == sandbox.Held.String() || kernel == sandbox.Partial.String()
	named := slices.ContainsFunc(append([]string{filepath.Base(command)}, args...), func(w string) bool { return gitWord.MatchString(strings.ToLower(w)) })
	if s == "" || !held || !named {
		return "", ""
	}
	return "your git signs commits (commit.gpgsign), and a server that the kernel holds reaches neither keys nor " + string(s) + ": a commit that it makes fails",
		`have it sign none: "env": { "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "commit.gpgsign", "GIT_CONFIG_VALUE_0": "false" } in its entry`
}
