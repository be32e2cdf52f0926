package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"mcphub/internal/caller"
	"mcphub/internal/exit"
	"mcphub/internal/layout"
	"mcphub/internal/trial"
)

// A tryOrder says what a process of its own starts once for the console. The console cannot do that itself: who has started a server bears
// the mark of hubs and of their servers from then on, and no hub answers it.
type tryOrder struct {
	Config, Path string
	Text         []byte            // of hub.json as it would be
	Names        []string          // of the servers
	Secrets      map[string]string // that have yet to be kept
}

// tryCommand does what a tryOrder on standard input says, where the kernel holds the servers, and prints what came of it.
func tryCommand() *cobra.Command {
	return &cobra.Command{Use: "try", Hidden: true, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		if err := caller.Self(caller.Want{}); err != nil {
			return exit.Failed(err)
		}
		var order tryOrder
		if err := json.NewDecoder(cmd.InOrStdin()).Decode(&order); err != nil {
			return exit.Errorf(exit.Usage, "this is for the console: %w", err)
		}
		env, err := clientEnv()
		if err != nil {
			return err
		}
		t := trier{
			config: order.Config, path: order.Path, text: order.Text, env: env, confined: true, limit: tryAllTime, say: cmd.OutOrStdout(), try: trial.Try,
			secret: func(name string) (string, bool) {
				value, ok := order.Secrets[name]
				return value, ok
			},
		}
		_, err = t.run(cmd.Context(), order.Names)
		return err
	}}
}

// run has a process of its own do it, and returns what that prints.
func (o *tryOrder) run(ctx context.Context) (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	order, err := json.Marshal(o)
	if err != nil {
		return "", err
	}
	var said, wrong bytes.Buffer
	cmd := exec.CommandContext(ctx, own, "console", "try")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(order), &said, &wrong
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends what it has started
	if err := cmd.Run(); err != nil {
		return "", errors.New(cmp.Or(strings.TrimSpace(wrong.String()), err.Error()))
	}
	return said.String(), nil
}

// tries is the order for the servers of an import, and what is said of those that cannot be started.
func (m *mergeResult) tries(config string, say io.Writer) *tryOrder {
	o := &tryOrder{Config: config, Path: m.path, Text: m.after, Secrets: map[string]string{}}
	for i := range m.imports {
		im := &m.imports[i]
		switch {
		case im.Same != "" || im.Server.Disabled:
		case im.Err != "":
			layout.Printf(say, "%s is not started: %s\n", im.Name, im.Err)
		default:
			o.Names = append(o.Names, im.Name)
		}
		for _, s := range im.Kept() {
			o.Secrets[s.Name], _ = im.Secret(s.Name)
		}
	}
	return o
}
