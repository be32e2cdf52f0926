package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/trial"
	"mcphub/internal/caller"
)

// A tryOrder lists what a process of its own starts once for the console. The console cannot do that itself: who has started a server bears
// the mark of hubs and of their servers from then on, and no hub answers it.
type tryOrder struct {
	Config, Path string
	Text         []byte            // of hub.json as it would be
	Names        []string          // of the servers
	Secrets      map[string]string // that have yet to be kept
}

// tryCommand carries out a tryOrder on standard input, if the kernel holds the servers, and prints what came of it.
func tryCommand() *cobra.Command {
	return &cobra.Command{Use: "try", Hidden: true, RunE: func(cmd *cobra.Command, _ []string) error {
		if err := caller.Self(caller.Want{}); err != nil {
			return err
		}
		var order tryOrder
		if err := json.NewDecoder(cmd.InOrStdin()).Decode(&order); err != nil {
			return exit.UsageErrorf("this is for the console: %w", err)
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
		_, err = t.tryServers(cmd.Context(), order.Names)
		return err
	}}
}

// runOrder has a process of its own do it, and returns what that prints.
func (o *tryOrder) runOrder(ctx context.Context) (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	order, err := json.Marshal(o)
	if err != nil {
		return "", err
	}
	in, give, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer give.Close()
	take, out, err := os.Pipe()
	if err != nil {
		_ = in.Close()
		return "", err
	}
	defer take.Close()
	p, err := os.StartProcess(own, []string{own, "console", "try"}, &os.ProcAttr{Files: []*os.File{in, out, out}})
	_, _ = in.Close(), out.Close()
	if err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { _ = p.Signal(os.Interrupt) }) // it ends what it has started
	defer stop()
	go func() {
		_, _ = give.Write(order) // a process that has ended has printed why
		_ = give.Close()
	}()
	said, err := io.ReadAll(io.LimitReader(take, maxDiff))
	_ = take.Close()
	state, failed := p.Wait()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil || failed != nil:
		return "", cmp.Or(err, failed)
	case !state.Success():
		return "", errors.New(cmp.Or(strings.TrimSpace(string(said)), state.String()))
	}
	return string(said), nil
}

// tryOrderOf returns the order for the servers of an import, and what is said of servers that cannot be started.
func (m *mergeResult) tryOrderOf(config string, say io.Writer) *tryOrder {
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
