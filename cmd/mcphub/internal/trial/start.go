package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/learn"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/cmd/mcphub/internal/client"
	"mcphub/cmd/mcphub/internal/service"
	"mcphub/hub"
	"mcphub/hub/status"
	"mcphub/internal/jsonrpc"
)

// closingTime is what the questions may take beyond the start of the servers.
const closingTime = 10 * time.Second

// Options describe how servers are tried.
type Options struct {
	Name    string        // of the client that they see
	Roots   []string      // directories in scope meanwhile
	Timeout time.Duration // until all have started or failed
	Audit   string        // folder of the record; "": nothing is recorded
	Log     zerolog.Logger

	Confined bool // Try starts nothing that the kernel does not hold

	// Confirm, if set, is shown what a server would open beyond its profile, and returns what of that it is
	// to have. Try records for it, if the kernel holds the server and gives notices.
	Confirm func(server string, closed learn.Recording) ([]sandbox.RecordedPath, error)

	// Calls are made at each start, in order, once the servers have listed what they offer.
	Calls []Call

	// Watch, if set, is given at each start a function that returns how the servers stand, until over is called. It must not block.
	Watch func(look func() status.Hub) (over func())
}

// A Call is one call of a tool.
type Call struct {
	Tool string // as clients call it, or as its server does
	Args []byte // a JSON object
}

// Observation holds what servers offered during one start, and how they were at its end.
type Observation struct {
	Status    status.Hub
	Tools     map[string][]client.Tool // of each server
	Prompts   []string                 // of all servers together
	Resources []string                 // URIs; likewise
	Failed    []string                 // why calls failed, in words; empty if each one worked
}

// Start starts the servers of a configuration, all of them, and returns when they have
// ended again.
func Start(ctx context.Context, cfg hub.Config, o Options) (*Observation, error) {
	cfg.Children = slices.Clone(cfg.Children)
	for i := range cfg.Children {
		child := &cfg.Children[i].Spec
		child.Start = spec.StartEager
		child.Share = spec.ShareSession // whomever it serves otherwise, here it is this client
	}
	cfg.Cache = "" // what a server offered before is not what it offers now
	cfg.Log = o.Log
	cfg.Limits.ListWait = o.Timeout // a list is answered sooner where all have started or failed
	most := o.Timeout + closingTime
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("what it offers was not listed within %s", most))
	defer cancel()
	seen := &Observation{Tools: map[string][]client.Tool{}}
	err := service.WithRecord(&cfg, o.Audit, func() error {
		return client.With(ctx, cfg, o.Log, o.Name, o.Roots, func(ctx context.Context, c *client.Session) error {
			if o.Watch != nil {
				defer o.Watch(c.Status)()
			}
			err := seen.askServers(ctx, c)
			for i := 0; err == nil && i < len(o.Calls); i++ {
				err = seen.makeCall(ctx, c, &o.Calls[i])
			}
			seen.Status = c.Status()
			if err == nil && cfg.Record != nil {
				cfg.Record.WaitQuiet(ctx, 0)
			}
			return err
		})
	})
	return seen, err
}

// askServers waits for the servers and takes in what they offer.
func (s *Observation) askServers(ctx context.Context, c *client.Session) error {
	offered, err := c.Offered(ctx)
	if err != nil {
		return err
	}
	for _, server := range offered.Servers {
		s.Tools[server.Name] = append(s.Tools[server.Name], server.Tools...)
	}
	if s.Prompts, err = listNames(ctx, c, "prompts", "name"); err != nil {
		return err
	}
	if s.Resources, err = listNames(ctx, c, "resources", "uri"); err != nil {
		return err
	}
	return nil
}

// makeCall makes a call, and notes why it failed. Its error ends the trial.
func (s *Observation) makeCall(ctx context.Context, c *client.Session, call *Call) error {
	tool := call.Tool
	for _, offered := range s.Tools {
		for i := range offered {
			if t := &offered[i]; call.Tool == t.ToolName || call.Tool == t.OwnName {
				tool = t.Name
			}
		}
	}
	result, err := c.CallTool(ctx, tool, call.Args)
	var refused *jsonrpc.Error
	switch {
	case errors.As(err, &refused):
		s.Failed = append(s.Failed, call.Tool+": "+refused.Message)
	case err == nil && string(jsonrpc.Get(result, "isError")) == "true":
		var texts []string
		err = jsonrpc.Elements(jsonrpc.Get(result, "content"), func(item []byte) bool {
			text, _ := jsonrpc.GetString(item, "text")
			texts = append(texts, text)
			return true
		})
		s.Failed = append(s.Failed, call.Tool+": "+strings.Join(texts, "\n"))
		return err
	default:
		return err
	}
	return nil
}

// listNames returns the names of one kind of things that the servers offer.
func listNames(ctx context.Context, c *client.Session, kind, key string) (names []string, err error) {
	list, err := c.Request(ctx, kind+"/list")
	if err != nil {
		return nil, err
	}
	err = jsonrpc.Elements(jsonrpc.Get(list, kind), func(def []byte) bool {
		name, _ := jsonrpc.GetString(def, key)
		names = append(names, name)
		return true
	})
	return names, err
}
