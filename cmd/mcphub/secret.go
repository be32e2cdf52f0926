package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/oauth/logins"
	"mcphub/cmd/mcphub/internal/secrets"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/internal/printable"
	"mcphub/internal/reference"
	"mcphub/internal/stdio"
)

func secretCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "secret",
		Aliases: []string{"secrets"},
		Short:   "Keep the secrets that hub.json refers to",
		Long: "Keeps secrets in the keyring of the system, or if there is none in a file encrypted by\n" +
			"age. An entry of hub.json refers to them by ${keyring:NAME} or ${input:ID}, in args, env,\n" +
			"headers and url, and they are looked up when its server starts.",
	}
	cmd.AddCommand(secretSetCommand(), secretListCommand(), secretRemoveCommand())
	return cmd
}

// secretKeeper holds hub.json and the store that the secret commands work on.
type secretKeeper struct {
	file    *config.File
	store   *secrets.Store
	changes *secretChanges // of this command, if they are printed as JSON; else nil
}

// secretChanges is the result of secret set and secret rm; the shape of --json.
type secretChanges struct {
	Secrets []secretChange `json:"secrets"`
}

type secretChange struct {
	Name  string   `json:"name"`
	State string   `json:"state"`           // set, left out, removed
	Place string   `json:"place,omitempty"` // where it is kept: keyring, file
	Why   string   `json:"why,omitempty"`   // why not in the keyring
	Used  []string `json:"used"`            // by entries of hub.json
}

// reportChange reports what became of a secret: at once in words, or at the end as JSON.
func (k *secretKeeper) reportChange(out io.Writer, text string, c secretChange) {
	if k.changes == nil {
		layout.Println(out, text)
		return
	}
	c.Used = k.namedBy(c.Name)
	k.changes.Secrets = append(k.changes.Secrets, c)
}

// printChanges ends a command: with what it changed, also if it failed later.
func (k *secretKeeper) printChanges(out io.Writer, failed error) error {
	if k.changes == nil || failed != nil && len(k.changes.Secrets) == 0 {
		return failed
	}
	if err := layout.JSON(out, k.changes); failed == nil {
		return err
	}
	return failed
}

// unlockTime is how long a person has to unlock the keyring.
const unlockTime = time.Minute

func newSecretKeeper(src *setup.Source) (*secretKeeper, error) {
	file, err := src.Load(io.Discard) // what else is wrong with it, validate says
	if err != nil {
		return nil, err
	}
	home, _ := os.UserHomeDir() // without one, what needs it stays relative and is refused
	kept := setup.Secrets(file, home)
	kept.Wait = unlockTime
	return &secretKeeper{file: file, store: secrets.New(kept)}, nil
}

func secretSetCommand() *cobra.Command {
	src := newSource()
	var asJSON bool
	cmd := &cobra.Command{
		Use: "set [NAME]", ValidArgsFunction: secretNames,
		Short: "Keep a secret; without a name, ask for each that hub.json refers to and that is not set",
		Long: "Asks for the value at a terminal, showing nothing of it, or reads it from standard input,\n" +
			"where one newline at the end is left out. Without a name it asks for each secret that\n" +
			"hub.json refers to and that is not set yet, with the text of \"inputs\".",
		Example: "  mcphub secret set GITHUB_TOKEN\n  pass show github | mcphub secret set GITHUB_TOKEN",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := newSecretKeeper(src)
			if err != nil {
				return err
			}
			if asJSON {
				k.changes = &secretChanges{Secrets: []secretChange{}}
			}
			if len(args) == 1 {
				err = k.setOne(cmd.Context(), cmd.OutOrStdout(), args[0])
			} else {
				err = k.setMissing(cmd.Context(), cmd.OutOrStdout())
			}
			return k.printChanges(cmd.OutOrStdout(), err)
		},
	}
	jsonFlag(cmd, &asJSON)
	configFlags(cmd, src)
	return cmd
}

func (k *secretKeeper) setOne(ctx context.Context, out io.Writer, name string) error {
	if bad := reference.CheckName(name); bad != "" {
		return exit.UsageErrorf("%q %s", name, bad)
	}
	var value string
	var err error
	if stdio.IsTerminal(os.Stdin) {
		value, err = readTerminalLine(ctx, k.questionFor(name), true)
	} else {
		value, err = readSecretFrom(os.Stdin)
	}
	if err != nil {
		return err
	}
	return k.setSecret(ctx, out, name, value)
}

// setMissing asks for what hub.json refers to and what is not set.
func (k *secretKeeper) setMissing(ctx context.Context, out io.Writer) error {
	var missing []string
	for _, name := range k.referredNames() {
		var unset *secrets.NotSetError
		switch _, err := k.store.Get(ctx, name); {
		case errors.As(err, &unset):
			missing = append(missing, name)
		case err != nil:
			return err
		}
	}
	switch {
	case len(missing) == 0:
		if k.changes == nil {
			layout.Println(out, "Nothing is missing.")
		}
		return nil
	case !stdio.IsTerminal(os.Stdin):
		return exit.UsageErrorf("not set: %s; without a name this asks at a terminal, and standard input is none: mcphub secret set NAME", strings.Join(missing, ", "))
	}
	for _, name := range missing {
		value, err := readTerminalLine(ctx, k.questionFor(name), k.isHidden(name))
		if err != nil {
			return err
		}
		if value == "" {
			k.reportChange(out, name+" is left out.", secretChange{Name: name, State: "left out"})
			continue
		}
		if err := k.setSecret(ctx, out, name, value); err != nil {
			return err
		}
	}
	return nil
}

func (k *secretKeeper) setSecret(ctx context.Context, out io.Writer, name, value string) error {
	at, why, err := k.store.Set(ctx, name, value)
	if err != nil {
		if why != "" {
			err = fmt.Errorf("%w (%s)", err, why)
		}
		return exit.Errorf(exit.Failure, "%s is not set: %w", name, err)
	}
	why = printable.Clean(why)
	k.reportChange(out, fmt.Sprintf("%s is kept in %s%s.", name, k.placeName(at), layout.WithPrefix(": ", why)), secretChange{Name: name, State: "set", Place: string(at), Why: why})
	return nil
}

// placeName names a place for people.
func (k *secretKeeper) placeName(at secrets.Place) string {
	if at == secrets.InKeyring {
		return "the keyring"
	}
	return "the encrypted file " + k.store.Files()[0]
}

// referredNames returns the names of the secrets that hub.json refers to, each once, in
// its order.
func (k *secretKeeper) referredNames() []string {
	var all []string
	for i := range k.file.Servers {
		if k.file.Servers[i].Disabled {
			continue
		}
		for _, r := range k.file.Servers[i].References() {
			if r.Kind != reference.File && !slices.Contains(all, r.Name) {
				all = append(all, r.Name)
			}
		}
	}
	return all
}

// namedBy returns the entries that refer to a secret.
func (k *secretKeeper) namedBy(name string) []string {
	all := []string{}
	for i := range k.file.Servers {
		s := &k.file.Servers[i]
		if slices.ContainsFunc(s.References(), func(r config.Reference) bool { return r.Kind != reference.File && r.Name == name }) {
			all = append(all, s.Name)
		}
	}
	return all
}

func (k *secretKeeper) inputOf(name string) *config.Input {
	if i := slices.IndexFunc(k.file.Inputs, func(in config.Input) bool { return in.ID == name }); i >= 0 {
		return &k.file.Inputs[i]
	}
	return nil
}

func (k *secretKeeper) questionFor(name string) string {
	if in := k.inputOf(name); in != nil && in.Description != "" {
		return printable.Line(in.Description) + " (" + name + ")"
	}
	by := layout.WithPrefix(" for ", strings.Join(k.namedBy(name), ", "))
	return "Value of " + name + by
}

// isHidden reports whether what is typed is not to be shown: unless inputs report that
// it is no password.
func (k *secretKeeper) isHidden(name string) bool {
	in := k.inputOf(name)
	return in == nil || in.Password
}

// readTerminalLine asks for one line at the terminal of standard input. The terminal shows nothing
// by itself before the question is there.
func readTerminalLine(ctx context.Context, question string, hidden bool) (string, error) {
	fd := int(os.Stdin.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", fmt.Errorf("the terminal: %w", err)
	}
	defer func() { _ = term.Restore(fd, before) }()
	t := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{os.Stdin, stderr}, question+": ")
	text, err := readUntil(ctx, func() (string, error) {
		if hidden {
			return t.ReadPassword(question + ": ")
		}
		return t.ReadLine()
	})
	switch {
	case ctx.Err() != nil:
		return "", exit.Errorf(exit.Interrupt, "interrupted")
	case err != nil && !errors.Is(err, term.ErrPasteIndicator):
		return "", exit.Errorf(exit.Interrupt, "nothing was typed, and nothing is set")
	}
	return text, nil
}

// readUntil reads until ctx ends. A read cannot be interrupted: where ctx ends first it is
// left behind, and the process ends.
func readUntil(ctx context.Context, read func() (string, error)) (string, error) {
	type line struct {
		text string
		err  error
	}
	got := make(chan line, 1)
	go func() {
		text, err := read()
		got <- line{text, err}
	}()
	select {
	case l := <-got:
		return l.text, l.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// readSecretFrom reads a value that was piped in.
func readSecretFrom(r io.Reader) (string, error) {
	raw, err := io.ReadAll(io.LimitReader(r, secrets.MaxValue+3))
	if err != nil {
		return "", fmt.Errorf("standard input: %w", err)
	}
	text := string(raw)
	if cut, ok := strings.CutSuffix(text, "\n"); ok {
		text = strings.TrimSuffix(cut, "\r")
	}
	return text, nil
}

// listedSecret is one line of `mcphub secret list`.
type listedSecret struct {
	Name  string   `json:"name"`
	Place string   `json:"place"` // keyring, file; "" if it is not set
	Used  []string `json:"used"`  // by entries of hub.json
}

// secretLookTime is how long list waits for the keyring.
const secretLookTime = 5 * time.Second

func secretListCommand() *cobra.Command {
	src := newSource()
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the names of secrets, where they are kept and who refers to them",
		Long:  "Lists names, never values: what is kept, and what hub.json refers to and is not set.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			k, err := newSecretKeeper(src)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), secretLookTime)
			defer cancel()
			all, why, err := k.listSecrets(ctx)
			if err != nil {
				return err
			}
			if why != "" {
				layout.Println(stderr, printable.Clean("the encrypted file alone is read: "+why))
			}
			if asJSON {
				return layout.JSON(cmd.OutOrStdout(), all)
			}
			if len(all) == 0 {
				layout.Println(stderr, "no secret is kept, and hub.json refers to none; mcphub secret set NAME keeps one")
			}
			t := layout.NewTable(cmd.OutOrStdout())
			for _, s := range all {
				t.Row(s.Name, cmp.Or(s.Place, "not set"), strings.Join(s.Used, ", "))
			}
			return t.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	configFlags(cmd, src)
	return cmd
}

func (k *secretKeeper) listSecrets(ctx context.Context) ([]listedSecret, string, error) {
	kept, why, err := k.store.Names(ctx)
	all := []listedSecret{}
	for _, s := range kept {
		if strings.HasPrefix(s.Name, logins.Prefix) || s.Name == copiesKey {
			continue // the hub's own; mcphub auth list shows logins
		}
		all = append(all, listedSecret{s.Name, string(s.Place), k.namedBy(s.Name)})
	}
	for _, name := range k.referredNames() {
		if !slices.ContainsFunc(all, func(s listedSecret) bool { return s.Name == name }) {
			all = append(all, listedSecret{name, "", k.namedBy(name)})
		}
	}
	slices.SortFunc(all, func(a, b listedSecret) int { return strings.Compare(a.Name, b.Name) })
	return all, why, err
}

func secretRemoveCommand() *cobra.Command {
	src := newSource()
	var asJSON bool
	cmd := &cobra.Command{
		Use: "rm NAME", ValidArgsFunction: secretNames,
		Short: "Forget a secret",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := newSecretKeeper(src)
			if err != nil {
				return err
			}
			var unset *secrets.NotSetError
			switch err := k.store.Delete(cmd.Context(), args[0]); {
			case errors.As(err, &unset):
				return exit.NotFoundErrorf("the secret %q is not set%s", unset.Name, layout.WithPrefix(": ", unset.Why))
			case err != nil:
				return err
			}
			if asJSON {
				k.changes = &secretChanges{}
			}
			out := cmd.OutOrStdout()
			k.reportChange(out, fmt.Sprintf("%s is forgotten%s.", args[0], layout.WithPrefix("; still named by ", strings.Join(k.namedBy(args[0]), ", "))), secretChange{Name: args[0], State: "removed"})
			return k.printChanges(out, nil)
		},
	}
	jsonFlag(cmd, &asJSON)
	configFlags(cmd, src)
	return cmd
}

// copiesKey is the name of the key that copies of clients' files are encrypted with.
const copiesKey = "mcphub/key/clients"
