package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcphub/children/sandbox"
	"mcphub/cmd/mcphub/internal/clients"
	"mcphub/cmd/mcphub/internal/clients/edit"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/config/hubfile"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/secrets"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/cmd/mcphub/internal/trial"
	"mcphub/internal/stdio"
)

// clientWork holds what init, import, install and uninstall work on.
type clientWork struct {
	config string // --config
	yes    bool
	asJSON bool
	noTry  bool
	limit  time.Duration // for all trials together
	again  []string      // the command itself, if it takes --timeout
	brief  bool          // one line for a server

	ctx      context.Context // of the command
	env      clients.Env
	store    *clients.Store
	secrets  *secrets.Store // set when hub.json was read
	toolsets []string       // that clients are registered with; nil: nothing is said about them
	web      *clients.Web   // where clients reach the hub; nil: they start it
	out      io.Writer      // the result
	say      io.Writer      // what comes before it
	in       *bufio.Reader  // nil if no one can be asked
	try      tryFunc        // starts a server

	lock func(ctx context.Context, path string) error // writes the hub.lock of a hub.json
}

func (w *clientWork) registerFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&w.config, "config", "c", "", "hub.json to use (default: $MCPHUB_CONFIG, then mcphub/hub.json in the user's configuration folder)")
	flags.BoolVarP(&w.yes, "yes", "y", false, "agree to everything that would be asked, but to keys of hub.json alone in other files")
	flags.BoolVar(&w.asJSON, "json", false, "print JSON, and ask nothing")
}

// findClients finds out what concerns clients on this system. The store is nil if there is
// no folder for it.
func (w *clientWork) findClients(cmd *cobra.Command) (err error) {
	w.ctx = cmd.Context()
	if w.env, err = clientEnv(); err != nil {
		return err
	}
	if dir := setup.ClientFolder(os.Getenv); dir != "" {
		w.store = &clients.Store{Dir: dir}
	}
	return nil
}

// clientEnv returns this system, as far as clients depend on it.
func clientEnv() (clients.Env, error) {
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return clients.Env{}, errors.New("the home folder is not known: set HOME")
	}
	return clients.Env{OS: runtime.GOOS, Home: home, Get: os.Getenv}, nil
}

// locateProgram returns an entry with a program that a client from the Dock of macOS finds too.
func locateProgram(env clients.Env, entry edit.Table) edit.Table {
	project, err := os.Getwd()
	if err != nil || sandbox.Contains(project, env.Home) {
		project = "" // the user's own programs are below it
	}
	return env.Located(entry, project)
}

// startWork looks at the system. Nothing is asked if the result is JSON, or where
// standard input or output is no terminal.
func (w *clientWork) startWork(cmd *cobra.Command) error {
	if err := w.findClients(cmd); err != nil {
		return err
	}
	if w.store == nil {
		return errors.New("there is no folder for copies of what is changed: set HOME")
	}
	w.store.Cipher = w.copyCipher()
	w.try, w.lock = trial.Try, w.writeLock
	w.out = cmd.OutOrStdout()
	w.say = w.out
	if w.asJSON {
		w.say = io.Discard
	}
	if !w.asJSON && !w.yes && stdio.IsTerminal(os.Stdin) && stdio.IsTerminal(os.Stdout) {
		w.in = bufio.NewReader(os.Stdin)
	}
	return nil
}

func (w *clientWork) printResult(format string, args ...any) { layout.Printf(w.out, format, args...) }
func (w *clientWork) tellPerson(format string, args ...any)  { layout.Printf(w.say, format, args...) }

// copyCipher encrypts copies of clients' files, with a key that is kept as a secret.
func (w *clientWork) copyCipher() *secrets.Cipher {
	path, text, _ := hubFile(w.config)
	kept, err := w.secretStore(path, text)
	if err != nil { // a broken hub.json must not keep anybody from undoing
		kept = secrets.New(setup.Secrets(config.Default(), w.env.Home))
	}
	return kept.Cipher(w.ctx, copiesKey)
}

// yesOrNo reads an answer, in the words of every question. Enter is yes.
func yesOrNo(answer string) (yes, known bool) {
	switch strings.ToLower(answer) {
	case "", "y", "yes", "all":
		return true, true
	case "n", "no", "none":
		return false, true
	}
	return false, false
}

// askDefaultYes asks a question. Enter and --yes mean yes.
func (w *clientWork) askDefaultYes(question string) (bool, error) {
	if w.yes {
		return true, nil
	}
	return w.askYesNo(question+" [Y/n] ", true)
}

// askDefaultNo asks a question whose answer is no if nothing else is said, and which
// --yes does not answer.
func (w *clientWork) askDefaultNo(question string) (bool, error) {
	return w.askYesNo(question+" [y/N] ", false)
}

// askYesNo asks until the answer is yes or no; Enter means what enter says.
func (w *clientWork) askYesNo(question string, enter bool) (bool, error) {
	for {
		answer, err := w.askPerson(question)
		if err != nil || answer == "" {
			return enter && err == nil, err
		}
		if yes, known := yesOrNo(answer); known {
			return yes, nil
		}
		w.tellPerson("%q is neither yes nor no.\n", answer)
	}
}

func (w *clientWork) askPerson(question string) (string, error) {
	if w.in == nil {
		return "", exit.UsageErrorf("nobody can be asked here: add --yes to agree to what is shown without it")
	}
	w.tellPerson("%s", layout.Lines{Text: question})
	line, err := readUntil(w.ctx, func() (string, error) { return w.in.ReadString('\n') })
	if w.ctx.Err() != nil {
		return "", w.ctx.Err()
	}
	if err != nil && (line == "" || !errors.Is(err, io.EOF)) {
		return "", errors.New("no answer; nothing was changed")
	}
	return strings.TrimSpace(line), nil
}

// askNumbers asks which of several things are meant, by number. All are if
// nothing is said.
func (w *clientWork) askNumbers(question string, n int) ([]bool, error) {
	out := make([]bool, n)
	for i := range out {
		out[i] = true
	}
	if w.yes || n == 0 {
		return out, nil
	}
	for {
		answer, err := w.askPerson(question + " [all (Enter), none, or numbers such as 1,3] ")
		if err != nil {
			return nil, err
		}
		picked := make([]bool, n)
		if all, known := yesOrNo(answer); all {
			return out, nil
		} else if known {
			return picked, nil
		}
		good := true
		for _, word := range strings.FieldsFunc(answer, func(r rune) bool { return r == ',' || r == ' ' }) {
			i, err := strconv.Atoi(word)
			if good = good && err == nil && i >= 1 && i <= n; good {
				picked[i-1] = true
			}
		}
		if good {
			return picked, nil
		}
		w.tellPerson("%q is none of that.\n", answer)
	}
}

// hubCommand returns how clients start this program. It is named by its whole path,
// because programs with windows have a PATH of their own. hub.json is named too, if
// there is one or will be and serve would not find it by itself.
func (w *clientWork) hubCommand(will bool) (clients.Hub, error) {
	command, err := ownPath()
	if err != nil {
		return clients.Hub{}, err
	}
	h := clients.Hub{Command: command, Args: []string{"serve"}}
	path, text, err := hubFile(w.config)
	if err != nil {
		return h, err
	}
	if (will || text != nil || w.config != "") && !foundWithoutHelp(path) {
		h.Args = append(h.Args, "--config", path)
	}
	return h, nil
}

// foundWithoutHelp reports whether serve finds a file if nothing names it. Not
// every client passes on the variables that this process has.
func foundWithoutHelp(path string) bool {
	env := func(name string) (string, bool) {
		if name == "MCPHUB_CONFIG" || name == "XDG_CONFIG_HOME" {
			return "", false
		}
		return os.LookupEnv(name)
	}
	found, _ := hubfile.Find("", env, func(p string) bool { return p == path || pathExists(p) })
	return found == path
}

// rootsFor returns the folders that a client which gives no roots is
// registered with: what was given, else what is asked for. why reports what a
// person should know of it.
func (w *clientWork) rootsFor(c *clients.Profile, given []string) (roots []string, why string, err error) {
	switch {
	case c.Roots == clients.GivesRoots:
		return nil, "", nil
	case len(given) > 0:
		return given, "works in " + strings.Join(given, ", "), nil
	case c.Roots == clients.StartsIn:
		return []string{"."}, "works in the folder that " + c.Title + " is started in", nil
	}
	project, bad := projectFolder(w.env.Home)
	if w.in != nil {
		question := c.Title + " does not tell the hub which folders are open. Which may it work in? "
		if bad == "" {
			question += "[" + project + "] "
		}
		answer, err := w.askPerson(question)
		if err != nil {
			return nil, "", err
		}
		if yes, known := yesOrNo(answer); known && !yes {
			bad = "none was named" // a folder of this name is ./no
		} else if !known {
			roots, err := existingFolders(strings.Split(answer, ","))
			return roots, "works in " + strings.Join(roots, ", "), err
		}
	}
	if bad != "" {
		return nil, fmt.Sprintf("%s does not tell which folders are open, and %s: without folders no boundary holds; name them with `mcphub install %s --roots DIR`", c.Title, bad, c.Name), nil
	}
	return []string{project}, "works in " + project, nil
}

// installedClients returns the clients that seem to be on this machine.
func (w *clientWork) installedClients() []*clients.Profile {
	var out []*clients.Profile
	for i := range clients.All {
		if c := &clients.All[i]; c.IsInstalled(w.env) {
			out = append(out, c)
		}
	}
	return out
}

// shortPath shows a path as a person writes it.
func (w *clientWork) shortPath(path string) string {
	if rest, ok := strings.CutPrefix(path, w.env.Home+string(filepath.Separator)); ok {
		return filepath.Join("~", rest)
	}
	return path
}

// writeTable writes rows under a two-blank indentation.
func (w *clientWork) writeTable(rows [][]string) {
	t := layout.NewTable(w.say)
	for _, r := range rows {
		t.Row(append([]string{"  " + r[0]}, r[1:]...)...)
	}
	_ = t.Flush()
}
